/** `/operator/members/{id}`: one member as they see themselves, with everything that happened, and what an operator can do about it. */
import type { Account } from '../../../../domain/identity/account.ts'
import type { OperatorRole } from '../../../../domain/identity/operators/operator-role.ts'
import type { Balance } from '../../../../domain/billing/ledger.ts'
import { isRunning } from '../../../../domain/billing/subscriptions/subscription.ts'
import type { Subscription } from '../../../../domain/billing/subscriptions/subscription.ts'
import { getBalance } from '../../../../services/member-usage.ts'
import { renderFacts, renderRows } from '../../../components/list.ts'
import { nameSignInProvider } from '../../../components/sign-in-provider-name.ts'
import { renderTime } from '../../../components/time.ts'
import { formatNumber } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate, requireOperatorContext } from '../../../page.ts'
import type { OperatorContext, PageContext, View } from '../../../page.ts'
import { renderStanding } from '../../member/usage/standing.ts'
import { createOperatorView } from '../operator-frame.ts'
import { renderStatus } from '../members.ts'
import { hasScope } from '../sections.ts'
import { findAccount } from './member-actions.ts'
import { renderMemberActions } from './member-action-forms.ts'
import { renderKeys, renderProviders, renderSessions } from './member-access.ts'
import { renderStatement } from './member-statement.ts'
import { renderLog, renderOrders, renderTurns } from './member-history.ts'

export async function createMemberView(page: PageContext): Promise<View> {
  const context = requireOperatorContext(page)
  const { t, services } = context
  const account = await findAccount(context)
  const [balance, subscriptions, operator] = await Promise.all([
    getBalance(account, services),
    services.store.subscriptions.list(account.id, { includeEnded: false }),
    services.store.operators.find(account.id, services.clock.now()),
  ])
  return createOperatorView(context, {
    title: account.email ?? account.id,
    end: renderStatus(t.console.statuses, account),
    content: html`${renderOverview(context, account, { role: operator?.role ?? null, running: subscriptions.find(isRunning) })}
      <section class="dashboard-part" aria-labelledby="title-pools">
        <h2 id="title-pools">${t.console.member.pools}</h2>
        ${renderStanding(context, balance)} ${renderPacks(context, balance)}
      </section>
      ${renderSubscriptions(context, subscriptions)} ${await renderStatement(context, account)}
      ${hasScope(context, 'turns:read') && (await renderTurns(context, account))} ${await renderKeys(context, account)}
      ${await renderSessions(context, account)} ${await renderProviders(context, account)}
      ${hasScope(context, 'money:read') && (await renderOrders(context, account))} ${await renderLog(context, account)}`,
  })
}

interface Standing {
  readonly role: OperatorRole | null
  /** The subscription that gives the plan in effect, if one does. */
  readonly running: Subscription | undefined
}

function renderOverview(context: OperatorContext, account: Account, { role, running }: Standing): Html {
  const { t } = context
  const { member: texts } = t.console
  const { id, plan, planUntil, terms, createdAt } = account
  return html`<section class="card pad" aria-label="${texts.overview}">
    ${renderFacts([
      [texts.id, html`<code>${id}</code>`],
      [texts.plan, html`${plan} ${running !== undefined && html`<span class="sub">${nameSource(context, running)}</span>`}`],
      [texts.until, planUntil === null ? texts.noEnd : renderTime(context, planUntil)],
      [texts.terms, terms === null ? null : html`<code>${terms.id}</code>`],
      [t.operator.role, role === null ? null : t.operator.roles[role]],
      [texts.since, renderTime(context, createdAt)],
    ])}
    ${account.status !== 'deleted' && renderMemberActions(context, account)}
  </section>`
}

function renderPacks({ t, language, services, ...context }: OperatorContext, { packs }: Balance): Html {
  if (packs.length === 0) return html``
  const page = { t, language, services, ...context }
  return html`<ul class="packs" role="list">
    ${packs.map(
      ({ id, pool, granted, reserved, settled, expiresAt }) =>
        html`<li>
          <span class="badge ${pool === 'fast' ? 'light' : 'flagship'}">${t.account[pool]}</span>
          <span
            >${interpolate(t.account.packLeft, { remaining: formatNumber(granted - reserved - settled, language), granted: formatNumber(granted, language) })}</span
          >
          <span class="sub">${t.console.member.expires} ${renderTime(page, expiresAt, 'date')}</span>
          <code class="breakable">${id}</code>
        </li>`,
    )}
  </ul>`
}

function renderSubscriptions(context: OperatorContext, subscriptions: readonly Subscription[]): Html {
  if (subscriptions.length === 0) return html``
  const { member: texts } = context.t.console
  return html`<section class="card" aria-labelledby="title-terms">
    <div class="card-head pad-head"><h2 id="title-terms">${texts.subscriptions}</h2></div>
    ${renderRows(
      subscriptions,
      ({ id, terms, source, provider, state, startsAt, endsAt, span }) =>
        html`<li class="log-row">
          <p class="row-line">
            <strong class="breakable">${terms.id}</strong>
            <span class="badge">${texts.subscriptionStates[state]}</span>
          </p>
          <p class="row-line sub">
            <span>${nameSource(context, { source, provider })}</span>
            ${startsAt !== null && renderTime(context, startsAt, 'date')}
            ${endsAt !== null && html`<span>${texts.until}</span> ${renderTime(context, endsAt, source === 'group' ? 'instant' : 'date')}`}
            ${span !== null && html`<span>${span}</span>`} <code class="breakable">${id}</code>
          </p>
        </li>`,
    )}
  </section>`
}

function nameSource({ t, services }: OperatorContext, { source, provider }: Pick<Subscription, 'source' | 'provider'>): string {
  const { member: texts } = t.console
  return provider === null
    ? texts.sources[source]
    : interpolate(texts.byGroupOf, { provider: nameSignInProvider(services, provider) })
}
