/** `/operator/money/subscribers`: how many have which plan by which terms, and the members behind each number. */
import type { Subscription } from '../../../../domain/billing/subscriptions/subscription.ts'
import type { TermsInUse } from '../../../../domain/billing/subscriptions/terms.ts'
import { renderDataTable } from '../../../components/data-table.ts'
import { renderEmptyState } from '../../../components/list.ts'
import { renderTime } from '../../../components/time.ts'
import { formatNumber } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate, requireOperatorContext } from '../../../page.ts'
import type { OperatorContext, PageContext, View } from '../../../page.ts'
import { renderCursorPager } from '../cursor-pager.ts'
import { createOperatorView } from '../operator-frame.ts'
import { renderMember } from '../turns/turn-table.ts'
import { moneyPages, renderMoneyTabs } from './money-tabs.ts'

const { path } = moneyPages.subscribers
const pageSize = 50
/** Of the newest versions of plans that anyone has. */
const maxTerms = 200

export async function createSubscribersView(page: PageContext): Promise<View> {
  const context = requireOperatorContext(page)
  const { t, query, services } = context
  const { subscribers: texts } = t.console
  const name = query.get('terms') ?? ''
  const terms = name === '' ? undefined : await services.store.subscriptions.findTerms(name.slice(0, 128))
  const all = await services.store.subscriptions.listTerms()
  const usedTerms = all.filter(({ running, waiting }) => running + waiting > 0).slice(-maxTerms)
  return createOperatorView(context, {
    title: texts.title,
    lead: texts.lead,
    content: html`${renderMoneyTabs(context, 'subscribers')}
      <section class="card">
        ${usedTerms.length === 0 ? renderEmptyState('list', texts.none) : renderTerms(context, usedTerms)}
      </section>
      ${terms !== undefined && (await renderMembers(context, terms.id))}`,
  })
}

function toAddress(terms: string, isWaiting: boolean, before?: string): string {
  const values = { terms, state: isWaiting ? 'waiting' : 'running', ...(before === undefined ? {} : { before }) }
  return `${path}?${new URLSearchParams(values)}`
}

function renderTerms(context: OperatorContext, used: readonly TermsInUse[]): Html {
  const { t, language, services } = context
  const { subscribers: texts, member } = t.console
  const link = (count: number, terms: string, isWaiting: boolean): Html =>
    count === 0 ? html`0` : html`<a href="${toAddress(terms, isWaiting)}#title-members">${formatNumber(count, language)}</a>`
  const rows = used.map(({ id, plan, createdAt, running, waiting }) => ({
    cells: [
      html`<code class="breakable">${id}</code>`,
      html`<span class="breakable">${services.config.plans[plan.id]?.name ?? plan.name}</span>`,
      renderTime(context, createdAt, 'date'),
      link(running, id, false),
      link(waiting, id, true),
    ],
  }))
  const plans = [...Map.groupBy(used, ({ plan }) => plan.id)].map(([id, each]) => {
    const runningCount = each.reduce((sum, terms) => sum + terms.running, 0)
    const waitingCount = each.reduce((sum, terms) => sum + terms.waiting, 0)
    const values = { plan: id, running: formatNumber(runningCount, language), waiting: formatNumber(waitingCount, language) }
    return html`<li>${interpolate(texts.ofPlan, values)}</li>`
  })
  return html`<ul class="pad-rest" role="list">
      ${plans}
    </ul>
    ${renderDataTable({
      label: texts.title,
      columns: [
        { title: member.terms },
        { title: member.plan },
        { title: texts.since },
        { title: texts.running, isNumber: true },
        { title: texts.waiting, isNumber: true },
      ],
      rows,
    })}`
}

async function renderMembers(context: OperatorContext, terms: string): Promise<Html> {
  const { t, query, services } = context
  const { subscribers: texts } = t.console
  const isWaiting = query.get('state') === 'waiting'
  const cursor = query.get('before') ?? ''
  const isFirst = !/^sub_\w{1,40}$/.test(cursor)
  const foundSubscriptions = await services.store.saleLists.listSubscriptions({
    terms,
    isWaiting,
    limit: pageSize + 1,
    ...(isFirst ? {} : { before: cursor }),
  })
  const shownSubscriptions = foundSubscriptions.slice(0, pageSize)
  const next = foundSubscriptions.length > pageSize ? shownSubscriptions.at(-1)?.id : undefined
  const title = interpolate(isWaiting ? texts.membersWaiting : texts.membersRunning, { terms })
  return html`<section class="card">
    <div class="card-head pad-head"><h2 id="title-members">${title}</h2></div>
    ${shownSubscriptions.length === 0 ? renderEmptyState('list', texts.noMembers) : renderTable(context, title, shownSubscriptions)}
    ${renderCursorPager(context, {
      label: title,
      first: `${toAddress(terms, isWaiting)}#title-members`,
      isFirst,
      next: next === undefined ? null : `${toAddress(terms, isWaiting, next)}#title-members`,
    })}
  </section>`
}

function renderTable(context: OperatorContext, label: string, subscriptions: readonly Subscription[]): Html {
  const { members, member, subscribers: texts } = context.t.console
  return renderDataTable({
    label,
    columns: [
      { title: members.member },
      { title: members.status },
      { title: texts.how },
      { title: texts.begins },
      { title: texts.ends },
    ],
    rows: subscriptions.map(({ account, state, source, startsAt, endsAt, span }) => ({
      cells: [
        renderMember(context, account),
        html`${member.subscriptionStates[state]}`,
        html`${member.sources[source]}`,
        startsAt === null ? html`–` : renderTime(context, startsAt, 'date'),
        endsAt === null ? html`${span ?? '–'}` : renderTime(context, endsAt, 'date'),
      ],
    })),
  })
}
