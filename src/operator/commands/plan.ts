/** `svc-gateway plan …`: the terms that members have, and moving them to others. */
import { formatInstant } from '../../domain/instant.ts'
import { getPlan } from '../../domain/billing/catalog/plan.ts'
import { parseSpan } from '../../domain/billing/span.ts'
import type { Subscription } from '../../domain/billing/subscriptions/subscription.ts'
import { serializePlan, toTermsId } from '../../domain/billing/subscriptions/terms.ts'
import type { PlanTerms } from '../../domain/billing/subscriptions/terms.ts'
import { CommandError, withInstallation } from '../installation.ts'
import type { Installation } from '../installation.ts'
import { formatCellTime, formatTable, pluralize, renderResult } from '../output.ts'
import { formatZone } from '../../system/terminal/format-time.ts'
import type { CommandResult, OutputOptions } from '../output.ts'

export function listPlans(options: OutputOptions): Promise<CommandResult> {
  return withInstallation(async ({ store, config, clock }) => {
    const now = clock.now()
    const allTerms = await store.subscriptions.listTerms()
    const following = await store.accounts.countByPlan()
    const isCurrent = ({ plan }: PlanTerms): boolean =>
      Object.hasOwn(config.plans, plan.id) && serializePlan(getPlan(config, plan.id)) === serializePlan(plan)
    const newestTermsIds = new Map(allTerms.map(({ id, plan }) => [plan.id, id]))
    const terms = allTerms.map((each) => ({
      id: each.id,
      plan: each.plan.id,
      version: each.version,
      name: each.plan.name,
      created_at: formatInstant(each.createdAt),
      is_current: newestTermsIds.get(each.plan.id) === each.id && isCurrent(each),
      running: each.running,
      waiting: each.waiting,
    }))
    const plans = [...new Set([...Object.keys(config.plans), ...following.map(({ plan }) => plan)])].map((plan) => ({
      id: plan,
      is_configured: Object.hasOwn(config.plans, plan),
      accounts: following.find((each) => each.plan === plan)?.accounts ?? 0,
    }))
    return renderResult(options, { object: 'list', data: terms, plans }, () =>
      [
        formatTable(
          ['plan', 'accounts that follow the configuration'],
          plans.map(({ id, is_configured: isConfigured, accounts }) => [isConfigured ? id : `${id} (not configured)`, accounts]),
        ),
        ...(terms.length === 0
          ? []
          : [
              '',
              formatTable(
                ['terms', 'name', `since (${formatZone(now)})`, 'as configured', 'subscribers', 'waiting'],
                allTerms.map(({ id, plan, createdAt, running, waiting }, index) => [
                  id,
                  plan.name,
                  formatCellTime(createdAt, now),
                  terms[index]?.is_current === true ? 'yes' : 'no',
                  running,
                  waiting,
                ]),
              ),
            ]),
      ].join('\n'),
    )
  })
}

export function movePlan(
  options: OutputOptions & { from: string; to: string; at: string; dryRun?: true; reason?: string },
): Promise<CommandResult> {
  const { at } = options
  if (at !== 'now' && at !== 'renewal') throw new CommandError(`--at must be now or renewal, not '${at}'.`)
  const isDryRun = options.dryRun === true
  const reason = options.reason?.trim() ?? ''
  return withInstallation(async (installation) => {
    const from = await installation.store.subscriptions.findTerms(options.from)
    if (from === undefined) throw new CommandError(`There are no terms '${options.from}'. See: svc-gateway plan list`)
    const to = await findTargetTerms(installation, options.to, isDryRun)
    if (to.id === from.id) throw new CommandError(`The subscriptions of ${from.id} have these terms already.`)
    const move = { from, to, at, reason: reason === '' ? null : reason } as const
    const plannedMove = await installation.subscriptions.move({ ...move, isDryRun: true })
    const mayMove = at === 'renewal' || !plannedMove.givesLess || move.reason !== null
    if (!isDryRun && !mayMove)
      throw new CommandError(
        `${to.id} gives less than ${from.id}, which ${pluralize(plannedMove.moved, 'subscription')} paid for or got. Move them at their renewal, or give a --reason, which the members see.`,
      )
    const result = isDryRun ? plannedMove : await installation.subscriptions.move({ ...move, isDryRun })
    const record = {
      from: from.id,
      to: to.id,
      at,
      dry_run: isDryRun,
      moved: result.moved,
      not_renewed: result.unchanged,
      gives_less: result.givesLess,
      reason: move.reason,
    }
    return renderResult(options, record, () => describeMove(record, mayMove))
  })
}

function describeMove(
  move: {
    readonly from: string
    readonly to: string
    readonly at: string
    readonly dry_run: boolean
    readonly moved: number
    readonly not_renewed: number
    readonly gives_less: boolean
  },
  mayMove: boolean,
): string {
  const when = move.at === 'now' ? 'now' : 'with their next renewal'
  const verb = move.dry_run ? 'would move' : move.at === 'now' ? 'moved' : 'will move'
  const less = move.gives_less ? ` ${move.to} gives less of something.` : ''
  const rest =
    move.not_renewed === 0
      ? ''
      : ` ${pluralize(move.not_renewed, 'subscription')} without a renewal keep ${move.from} to the end.`
  const refusal = mayMove ? '' : ' Without --reason this is refused.'
  return `${pluralize(move.moved, 'subscription')} ${verb} from ${move.from} to ${move.to} ${when}.${rest}${less}${refusal}`
}

/** Terms by their id, or a plan's name for what the configuration gives now. A dry run makes none. */
async function findTargetTerms({ store, config, clock }: Installation, name: string, isDryRun: boolean): Promise<PlanTerms> {
  const namedTerms = await store.subscriptions.findTerms(name)
  if (namedTerms !== undefined) return namedTerms
  if (!Object.hasOwn(config.plans, name))
    throw new CommandError(
      `There are no terms '${name}'. See: svc-gateway plan list; a plan's id such as ${config.defaultPlan} means the configuration's.`,
    )
  const plan = getPlan(config, name)
  if (!isDryRun) return store.subscriptions.ensureTerms(plan, clock.now())
  const newestTerms = await store.subscriptions.findNewestTerms(name)
  if (newestTerms !== undefined && serializePlan(newestTerms.plan) === serializePlan(plan)) return newestTerms
  const version = (newestTerms?.version ?? 0) + 1
  return { id: toTermsId(name, version), version, plan }
}

export function endSubscription(id: string, options: OutputOptions & { reason: string }): Promise<CommandResult> {
  const reason = options.reason.trim()
  if (reason === '') throw new CommandError('--reason must name why; the member sees it.')
  return withInstallation(async ({ store, subscriptions, note }) => {
    const subscription = await store.subscriptions.find(id)
    if (subscription === undefined) throw new CommandError(`There is no subscription '${id}'. See: svc-gateway account show …`)
    if (!(await subscriptions.end(id))) throw new CommandError(`Subscription ${id} has ended already.`)
    const account = await store.accounts.find(subscription.account)
    const plan = account?.plan ?? ''
    await note('plan_changed', subscription.account, { ended: subscription.terms.id, plan, reason })
    return renderResult(
      options,
      { ok: true, id, ended: true, plan },
      () => `Subscription ${id} (${subscription.terms.id}) has ended. Account ${subscription.account} has plan ${plan} now.`,
    )
  })
}

export function toSubscriptionRecord(subscription: Subscription): Record<string, unknown> {
  const { id, terms, source, provider, order, renewal, nextTerms, state, span, startsAt, endsAt, createdAt, endedAt } =
    subscription
  return {
    id,
    terms: terms.id,
    plan: terms.plan.id,
    source,
    provider,
    order,
    renewal,
    next_terms: nextTerms,
    state,
    span,
    starts_at: formatInstant(startsAt),
    ends_at: formatInstant(endsAt),
    created_at: formatInstant(createdAt),
    ended_at: formatInstant(endedAt),
  }
}

/** As a cell of a table. What is left of an interrupted span is shown in days. */
export function formatSpanLeft(text: string): string {
  const span = parseSpan(text)
  if (span === undefined) return text
  return span.unit === 'ms' ? `${(span.count / 86_400_000).toFixed(1)}d` : text
}
