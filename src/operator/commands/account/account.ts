/** `svc-gateway account …` */
import { getSiteOrigin } from '../../../config/site-origin.ts'
import { maskEmail } from '../../../domain/identity/audit.ts'
import { renderEmailChanged } from '../../../mail/templates/email-change-email.ts'
import { hashPassword } from '../../../domain/identity/passwords/password.ts'
import { anyEmailDomain, parseEmail } from '../../../domain/identity/email/email-address.ts'
import { checkPassword, passwordLengthBounds } from '../../../domain/identity/passwords/password.ts'
import type { Account } from '../../../domain/identity/account.ts'
import { unknownReader } from '../../../domain/identity/reader.ts'
import type { Subscription } from '../../../domain/billing/subscriptions/subscription.ts'
import { formatSpanLeft, toSubscriptionRecord } from '../plan.ts'
import { formatInstant } from '../../../domain/instant.ts'
import { AccountDeletionService } from '../../../domain/services/account-deletion-service.ts'
import { getBalance } from '../../../services/member-usage.ts'
import { toUsageBoosts, toUsagePools } from '../../../domain/billing/usage/usage.ts'
import {
  isOperatorRole,
  operatorRoleNames,
  operatorRoles as rolesByName,
} from '../../../domain/identity/operators/operator-role.ts'
import { parseFutureInstant, parseWholeNumber } from '../boost.ts'
import { deliverEmail } from '../../deliver-email.ts'
import { requireAccount, CommandError, requirePlan, withInstallation } from '../../installation.ts'
import type { Installation } from '../../installation.ts'
import { formatCellTime, formatMoment, formatTable, pluralize, renderResult } from '../../output.ts'
import { formatZone } from '../../../system/terminal/format-time.ts'
import type { OutputOptions, CommandResult } from '../../output.ts'

export function createAccount(
  options: OutputOptions & { email: string; plan?: string; password?: string },
): Promise<CommandResult> {
  return withInstallation(async (installation) => {
    const { config, memberAdmin, createAuthor } = installation
    // Normalised as sign-in does it; the operator may use any domain.
    const verdict = parseEmail(options.email, anyEmailDomain)
    if (verdict.kind !== 'good') throw new CommandError(`'${options.email}' is not a mail address.`)
    const email = verdict.email
    if (options.password !== undefined) assertGoodPassword(options.password, email)
    const plan = requirePlan(installation, options.plan ?? config.defaultPlan)
    const passwordHash = options.password === undefined ? null : await hashPassword(options.password)
    const account = await memberAdmin.createAccount({ email, plan, passwordHash }, createAuthor())
    if (account === undefined)
      throw new CommandError(`There is an account for ${email} already. See: svc-gateway account show ${email}`)
    return renderResult(
      options,
      toRecord(account),
      () =>
        `Account ${account.id} (${email}, plan ${account.plan}) was made.\nNext: svc-gateway key create --account ${email} --name "first key"`,
    )
  })
}

export function listAccounts(options: OutputOptions & { limit: string; after?: string }): Promise<CommandResult> {
  return withInstallation(async ({ store, clock }) => {
    const accounts = await store.accounts.list({
      limit: parseWholeNumber('--limit', options.limit),
      ...(options.after === undefined ? {} : { after: options.after }),
    })
    return renderResult(options, { object: 'list', data: accounts.map(toRecord) }, () =>
      formatTable(
        ['id', 'email', 'plan', 'status', `created (${formatZone(clock.now())})`],
        accounts.map(({ id, email, plan, status, createdAt }) => [
          id,
          email,
          plan,
          status,
          formatCellTime(createdAt, clock.now()),
        ]),
      ),
    )
  })
}

export function showAccount(idOrEmail: string, options: OutputOptions): Promise<CommandResult> {
  return withInstallation(async (installation) => {
    const account = await requireAccount(installation, idOrEmail)
    const balance = await getBalance(account, { ...installation, ledger: installation.store.ledger })
    const pools = toUsagePools(balance)
    const boosts = toUsageBoosts(balance)
    const now = installation.clock.now()
    const subscriptions = await installation.store.subscriptions.list(account.id, { includeEnded: true })
    return renderResult(
      options,
      { ...toRecord(account), pools, boosts, subscriptions: subscriptions.map(toSubscriptionRecord) },
      () =>
        [
          formatTable(
            ['id', 'email', 'plan', 'until', 'status', `created (${formatZone(now)})`],
            [
              [
                account.id,
                account.email,
                account.plan,
                formatCellTime(account.planUntil, now),
                account.status,
                formatCellTime(account.createdAt, now),
              ],
            ],
          ),
          '',
          formatTable(
            ['pool', 'window', 'limit', 'used', 'held', 'left', 'resets'],
            pools.map(({ tier, window, limit, used, reserved, remaining, resets_at }) => [
              tier,
              window,
              limit,
              used,
              reserved,
              remaining,
              formatCellTime(resets_at, now),
            ]),
          ),
          ...renderSubscriptions(subscriptions, now),
          ...(boosts.length === 0
            ? []
            : [
                '',
                formatTable(
                  ['boost', 'kind', 'pool', 'granted', 'left', 'expires'],
                  boosts.map((pack) => [
                    pack.id,
                    pack.kind,
                    pack.tier,
                    pack.granted,
                    pack.remaining,
                    formatCellTime(pack.expires_at, now),
                  ]),
                ),
              ]),
        ].join('\n'),
    )
  })
}

export function setPlan(idOrEmail: string, options: OutputOptions & { plan: string; until?: string }): Promise<CommandResult> {
  return changeAccount(idOrEmail, options, async (installation, account) => {
    const plan = requirePlan(installation, options.plan)
    const { clock, calendar, config, subscriptions, memberAdmin, createAuthor } = installation
    const until = options.until === undefined ? null : parseFutureInstant('--until', options.until, clock.now(), calendar)
    const entitlementChange = await memberAdmin.setPlan(account, { plan, until }, createAuthor())
    if (entitlementChange === undefined) throw createDeletedError(account)
    if (entitlementChange.plan !== plan)
      return `Plan ${plan} was given to account ${account.id}, which keeps its higher plan ${entitlementChange.plan} until ${formatMoment(entitlementChange.planUntil ?? 0, clock.now())}.`
    const next = (await subscriptions.listStretches(account.id)).find(({ startsAt }) => startsAt === until)
    const nextPlan = next?.subscription.terms.plan.id ?? config.defaultPlan
    const then = until === null ? '' : ` until ${formatMoment(until, clock.now())}, then ${nextPlan}`
    return `Account ${account.id} has plan ${plan} now${then}. What it has used stays used.`
  })
}

export function setStatus(idOrEmail: string, status: 'active' | 'disabled', options: OutputOptions): Promise<CommandResult> {
  return changeAccount(idOrEmail, options, async (installation, account) => {
    const { memberAdmin, createAuthor } = installation
    if (!(await memberAdmin.setStatus(account, status, createAuthor()))) throw createDeletedError(account)
    return `Account ${account.id} is ${status} now.`
  })
}

export function deleteAccount(
  idOrEmail: string,
  options: OutputOptions & { yes?: boolean; withoutProvider?: boolean },
): Promise<CommandResult> {
  if (options.yes !== true)
    throw new CommandError(
      'This deletes the personal data and ends all keys and sessions; the ledger stays. Add --yes to confirm.',
    )
  return changeAccount(idOrEmail, options, async (installation, account) => {
    const { note } = installation
    if (account.status === 'deleted') throw createDeletedError(account)
    const { openOrders } = await import('../order/open-orders.ts')
    const deletions = new AccountDeletionService({
      ...installation,
      orders: (await openOrders(installation)).orders,
      mailer: null,
      writeAudit: async (event, id, _client, detail) => note(event, id ?? account.id, detail),
      // Running servers read the changed accounts from the database.
      onCredentialsChanged: () => undefined,
    })
    const skipsProvider = options.withoutProvider === true
    const outcome = await deletions.delete(account.id, { reader: unknownReader, client: null, skipsProvider })
    return outcome === 'deleted'
      ? `Account ${account.id} was deleted. Its ledger stays, without the person.`
      : `The renewal of account ${account.id} could not be ended at its payment provider, so the account is disabled until a running server has ended it and completes the deletion. See: svc-gateway order list --account ${account.id}`
  })
}

/** The operator vouches for the address, so nothing is proven; both addresses receive an email. */
export function setEmail(idOrEmail: string, options: OutputOptions & { email: string }): Promise<CommandResult> {
  return changeAccount(idOrEmail, options, async (installation, account) => {
    const { clock, memberAdmin, createAuthor } = installation
    const verdict = parseEmail(options.email, anyEmailDomain)
    if (verdict.kind !== 'good') throw new CommandError(`'${options.email}' is not a mail address.`)
    const { email } = verdict
    if (account.status === 'deleted') throw createDeletedError(account)
    if (account.email === email) throw new CommandError(`Account ${account.id} has the address ${email} already.`)
    if (!(await memberAdmin.changeEmail(account, email, createAuthor())))
      throw new CommandError(`Another account has the mailbox of ${email}. See: svc-gateway account show ${email}`)
    const newAddress = maskEmail(email) ?? ''
    const recipients = [account.email, email].filter((each) => each !== null)
    const noticesSentence = await sendNotices(installation, recipients, { newAddress, at: clock.now() })
    return `Account ${account.id} has the address ${email} now. ${noticesSentence}`
  })
}

/** Reports what became of each email. */
async function sendNotices(
  installation: Installation,
  recipients: readonly string[],
  change: { readonly newAddress: string; readonly at: number },
): Promise<string> {
  const { brand, listen } = installation.config
  const sender = { name: brand.name, site: getSiteOrigin(listen) }
  const content = renderEmailChanged(sender, change, { language: null, timeZone: null })
  const outcomes: string[] = []
  for (const to of recipients) {
    const { reason } = await deliverEmail(installation, { to, ...content })
    outcomes.push(reason === null ? `An email was sent to ${to}.` : `The email to ${to} was not sent (${reason}).`)
  }
  return outcomes.join(' ')
}

/** Lets the members of a provider link again, for example because it was rebuilt and all its subjects changed. */
export function unlinkProvider(
  provider: string,
  options: OutputOptions & { account?: string; all?: boolean },
): Promise<CommandResult> {
  if ((options.account === undefined) === (options.all !== true))
    throw new CommandError('Name one account with --account, or all of the provider with --all.')
  return withInstallation(async (installation) => {
    const { config, memberAdmin, createAuthor } = installation
    const account = options.account === undefined ? null : await requireAccount(installation, options.account)
    const unlinkedAccounts = await memberAdmin.unlinkProvider(provider, account?.id ?? null, createAuthor())
    if (unlinkedAccounts.length === 0 && !Object.hasOwn(config.signIn.providers, provider)) {
      const names = Object.keys(config.signIn.providers).join(', ')
      throw new CommandError(`There is no provider '${provider}'.${names === '' ? '' : ` Providers: ${names}.`}`)
    }
    return renderResult(
      options,
      { object: 'list', data: unlinkedAccounts },
      () =>
        `${pluralize(unlinkedAccounts.length, 'account')} unlinked from ${provider}. The next sign-in with a verified address links again; sessions stay.`,
    )
  })
}

/** Gives or takes the role of an operator; `none` takes it. */
export function setRole(
  idOrEmail: string,
  options: OutputOptions & { role: string; reason?: string; resetSecondFactor?: true },
): Promise<CommandResult> {
  const { role } = options
  if (role !== 'none' && !isOperatorRole(role))
    throw new CommandError(`--role must be one of ${operatorRoleNames.join(', ')}, or none, not '${role}'.`)
  return changeAccount(idOrEmail, options, async ({ operatorRoles, createAuthor }, account) => {
    const author = createAuthor(options.reason)
    if (!(await operatorRoles.setRole(account.id, role === 'none' ? null : role, author)))
      throw new CommandError(`Account ${account.id} is ${account.status} and cannot have a role.`)
    const isReset = options.resetSecondFactor === true && (await operatorRoles.resetSecondFactor(account.id, author))
    const reset = isReset ? ' Its second factor was removed, and the next sign-in to the console sets up another.' : ''
    if (role === 'none')
      return `Account ${account.id} has no role now. Its sessions of the console and its operator keys have ended.${reset}`
    return `Account ${account.id} has the role ${role} now: ${rolesByName[role].join(', ')}.${reset}`
  })
}

function createDeletedError({ id }: Account): CommandError {
  return new CommandError(`Account ${id} is deleted and stays so.`)
}

function assertGoodPassword(password: string, email: string): void {
  const verdict = checkPassword(password, email)
  if (verdict === 'good') return
  const why = { short: 'is too short', long: 'is too long', common: 'is one that everybody tries first' }[verdict]
  throw new CommandError(
    `The password ${why}; use ${passwordLengthBounds.min} to ${passwordLengthBounds.max} characters that are hard to guess.`,
  )
}

function changeAccount(
  idOrEmail: string,
  options: OutputOptions,
  change: (installation: Installation, account: Account) => Promise<string>,
): Promise<CommandResult> {
  return withInstallation(async (installation) => {
    const { id } = await requireAccount(installation, idOrEmail)
    const message = await change(installation, await requireAccount(installation, id))
    return renderResult(options, toRecord(await requireAccount(installation, id)), () => message)
  })
}

function toRecord({ id, email, plan, planUntil, terms, status, createdAt }: Account): Record<string, unknown> {
  const record = { id, email, plan, plan_until: formatInstant(planUntil), terms: terms?.id ?? null }
  return { ...record, status, created_at: formatInstant(createdAt) }
}

function renderSubscriptions(subscriptions: readonly Subscription[], now: number): readonly string[] {
  if (subscriptions.length === 0) return []
  const header = ['subscription', 'terms', 'from', 'state', 'began', 'ends', 'left']
  const rows = subscriptions.map(({ id, terms, source, provider, state, startsAt, endsAt, endedAt, span }) => [
    id,
    terms.id,
    provider === null ? source : `${source} of ${provider}`,
    state,
    formatCellTime(startsAt, now),
    formatCellTime(endedAt ?? endsAt, now),
    state === 'waiting' && span !== null ? formatSpanLeft(span) : '',
  ])
  return ['', formatTable(header, rows)]
}
