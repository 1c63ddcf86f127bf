/** `/account`: where the member stands, usage by day, the turns, and the first steps of a new account. */
import { resolvePlan } from '../../../domain/billing/subscriptions/terms.ts'
import { getBalance, readUsageHistory, usageDimensions } from '../../../services/member-usage.ts'
import { nameSignInProvider } from '../../components/sign-in-provider-name.ts'
import { formatDate } from '../../format.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { interpolate, requireMember } from '../../page.ts'
import type { MemberContext, PageContext, View } from '../../page.ts'
import { createMemberView } from './member-frame.ts'
import { renderFirstSteps } from './usage/first-steps.ts'
import { renderStanding } from './usage/standing.ts'
import { hasTurns, renderTurns } from './usage/turn-list.ts'
import { renderUsageChart } from './usage/usage-chart.ts'

const ranges = [7, 30, 90] as const

export async function createUsageView(page: PageContext): Promise<View> {
  const context = requireMember(page)
  const { t, services, viewer } = context
  const { account } = t
  const plan = resolvePlan(services.config, viewer)
  const keys = await services.membership.apiKeys.list(viewer.id)
  return createMemberView(context, {
    title: account.rail.usage,
    heading: account.hello,
    end: html`<p class="plan-now">
      <span class="sub">${account.plan}</span> <strong data-plan>${plan.name}</strong>
      ${viewer.planUntil !== null && renderPlanEnd(context, viewer.planUntil)} ${await renderFurtherPlans(context)}
      <a class="button quiet small" href="/plans">${account.change}</a>
    </p>`,
    content: html`<section aria-label="${account.poolsTitle}">
        ${renderStanding(context, await getBalance(viewer, services))}
      </section>
      ${(await hasTurns(services, viewer.id)) ? await renderHistory(context) : renderFirstSteps(context, keys)}
      ${await renderTurns(context, new Map(keys.map(({ id, name }) => [id, name])))}`,
    script: { name: 'account', texts: { account }, props: {} },
  })
}

async function renderHistory(context: MemberContext): Promise<Html> {
  const { t, query, services, viewer } = context
  const { account: texts } = t
  const days = ranges.find((each) => String(each) === query.get('days')) ?? 30
  const by = usageDimensions.find((each) => each === query.get('by')) ?? 'tier'
  const history = await readUsageHistory(viewer.id, { days, by }, services)
  const { tier, model, key, apiFormat } = texts.dimensions
  const names = { tier, model, key, api_format: apiFormat }
  const dayOptions = ranges.map((each) => [String(each), interpolate(texts.lastDays, { days: each })] as const)
  return html`<section class="card pad" aria-labelledby="title-history">
    <div class="card-head">
      <h2 id="title-history">${texts.chartTitle}</h2>
      <form class="choices" action="/account#title-history" data-auto-submit>
        ${renderChoice('days', texts.range, String(days), dayOptions)}
        ${renderChoice(
          'by',
          texts.groupBy,
          by,
          usageDimensions.map((each) => [each, names[each]]),
        )}
        <button class="button quiet small">${texts.show}</button>
      </form>
    </div>
    ${renderUsageChart(context, history)}
  </section>`
}

type Option = readonly [value: string, label: string]

function renderChoice(name: string, label: string, chosen: string, options: readonly Option[]): Html {
  return html`<label class="choice"
    ><span class="unseen">${label}</span
    ><select class="small-select" name="${name}">
      ${options.map(([value, text]) => html`<option value="${value}" ${value === chosen && html`selected`}>${text}</option>`)}
    </select></label
  >`
}

/** A day of the service's calendar, wherever its machine is. */
function renderPlanEnd({ t, locale, services }: PageContext, until: number): Html {
  const date = formatDate(until, locale, services.config.timeZone)
  return html`<time class="sub" datetime="${new Date(until).toISOString()}">${interpolate(t.account.planUntil, { date })}</time>`
}

/** Whose groups give the plan, and what begins when it has ended, one line for each plan. */
async function renderFurtherPlans({ t, locale, services, viewer }: MemberContext): Promise<readonly Html[]> {
  const { planUntil, terms } = viewer
  if (planUntil === null || terms === null) return []
  const stretches = await services.membership.subscriptions.listStretches(viewer.id)
  const next = stretches.filter(({ startsAt }) => startsAt >= planUntil)
  const provider = stretches[0]?.subscription.provider ?? null
  const last = next.filter(
    ({ subscription }, index) => next[index + 1]?.subscription.terms.plan.id !== subscription.terms.plan.id,
  )
  const texts = last.map(({ subscription, endsAt }) => {
    const date = formatDate(endsAt, locale, services.config.timeZone)
    return interpolate(t.account.thenPlan, { plan: subscription.terms.plan.name, date })
  })
  const why = provider === null ? [] : [interpolate(t.account.planByGroups, { provider: nameSignInProvider(services, provider) })]
  return [...why, ...texts].map((text) => html`<span class="sub">${text}</span>`)
}
