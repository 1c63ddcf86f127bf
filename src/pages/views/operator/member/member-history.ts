/** What happened to a member: turns and what they cost, orders, and the log. */
import type { Account } from '../../../../domain/identity/account.ts'
import type { Turn } from '../../../../domain/billing/ledger.ts'
import { formatPrice } from '../../../../domain/billing/money.ts'
import { formatOrderTitle } from '../../../../domain/billing/orders/order-title.ts'
import { renderDataTable } from '../../../components/data-table.ts'
import { renderRows } from '../../../components/list.ts'
import { renderOrderState } from '../../../components/order-text.ts'
import { renderTime } from '../../../components/time.ts'
import { formatNumber } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import type { OperatorContext } from '../../../page.ts'
import { renderAuditRecord } from '../audit-record.ts'
import { renderCursorPager } from '../cursor-pager.ts'
import { consoleSections } from '../sections.ts'
import { renderTurnLink } from '../turns/turn-table.ts'

const shownTurns = 20
const shownOrders = 20
const shownRecords = 20

export async function renderTurns(context: OperatorContext, account: Account): Promise<Html> {
  const { t, services, query, path, language } = context
  const { member: texts } = t.console
  const before = /^\d{1,15}$/.test(query.get('turns') ?? '') ? Number(query.get('turns')) : null
  const turns = await services.ledger.turns({
    account: account.id,
    limit: shownTurns + 1,
    ...(before === null ? {} : { before }),
  })
  const turnsOnPage = turns.slice(0, shownTurns)
  if (turnsOnPage.length === 0 && before === null) return html``
  const next = turns.length > shownTurns ? turnsOnPage.at(-1)?.id : undefined
  return html`<section class="card">
    <div class="card-head pad-head">
      <h2 id="title-turns">${texts.turns}</h2>
      <a class="button quiet small" href="${consoleSections.turns.path}?member=${account.id}">${texts.findTurns}</a>
    </div>
    ${renderDataTable({
      label: texts.turns,
      look: 'turn-table',
      columns: [
        { title: texts.turn },
        { title: texts.product },
        { title: texts.ending },
        { title: texts.charged, isNumber: true },
      ],
      rows: turnsOnPage.map((turn) => ({
        cells: [
          html`${renderTurnLink(turn.id, renderTime(context, turn.startedAt))}
            <code class="sub breakable">${turn.requestId}</code>`,
          html`<span class="breakable">${turn.model}</span>`,
          renderEnding(context, turn),
          html`${formatNumber(turn.credits, language)}`,
        ],
      })),
    })}
    ${renderCursorPager(context, {
      label: texts.turns,
      first: `${path}#title-turns`,
      isFirst: before === null,
      next: next === undefined ? null : `${path}?turns=${next}#title-turns`,
    })}
  </section>`
}

function renderEnding({ t }: OperatorContext, { state, code }: Turn): Html {
  const { [code ?? '']: words } = t.console.now.endings
  const look = { settled: 'good', held: 'warn', refunded: 'bad', expired: 'bad' }[state]
  return html`<span class="badge ${look}">${t.console.member.turnStates[state]}</span>
    ${words !== undefined ? html`<span class="sub">${words}</span>` : code !== null && html`<code>${code}</code>`}`
}

export async function renderOrders(context: OperatorContext, account: Account): Promise<Html> {
  const { t, services, language } = context
  const { member: texts } = t.console
  const orders = await services.store.orders.list({ account: account.id, limit: shownOrders })
  if (orders.length === 0) return html``
  return html`<section class="card">
    <div class="card-head pad-head"><h2 id="title-orders">${texts.orders}</h2></div>
    ${renderDataTable({
      label: texts.orders,
      columns: [
        { title: t.orders.order },
        { title: t.orders.item },
        { title: t.orders.state },
        { title: t.orders.paid, isNumber: true },
      ],
      rows: orders.map((order) => ({
        cells: [
          html`<a href="${consoleSections.orders.path}/${order.id}">${order.number}</a>`,
          html`${formatOrderTitle(order.item, language)}`,
          renderOrderState(context, order),
          html`${formatPrice(order.paid ?? order.due, language)}`,
        ],
      })),
    })}
  </section>`
}

export async function renderLog(context: OperatorContext, account: Account): Promise<Html> {
  const { t, services, query, path } = context
  const { member: texts } = t.console
  const cursor = query.get('log') ?? ''
  const isFirst = !/^aud_\w{1,40}$/.test(cursor)
  const page = { account: account.id, limit: shownRecords + 1, ...(isFirst ? {} : { before: cursor }) }
  const records = await services.store.audit.list(page)
  const recordsOnPage = records.slice(0, shownRecords)
  const next = records.length > shownRecords ? recordsOnPage.at(-1)?.id : undefined
  return html`<section class="card" aria-labelledby="title-log">
    <div class="card-head pad-head"><h2 id="title-log">${texts.log}</h2></div>
    ${recordsOnPage.length === 0 ? html`<p class="sub pad-rest">${t.sessions.auditEmpty}</p>` : renderRows(recordsOnPage, (record) => renderAuditRecord(context, record))}
    ${renderCursorPager(context, {
      label: texts.log,
      first: `${path}#title-log`,
      isFirst,
      next: next === undefined ? null : `${path}?log=${next}#title-log`,
    })}
  </section>`
}
