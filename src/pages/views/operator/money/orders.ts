/** `/operator/orders`: all orders, by state, newest first. */
import { formatPrice } from '../../../../domain/billing/money.ts'
import { orderStates } from '../../../../domain/billing/order.ts'
import type { Order, OrderState } from '../../../../domain/billing/order.ts'
import { formatOrderTitle } from '../../../../domain/billing/order-title.ts'
import { renderDataTable } from '../../../components/data-table.ts'
import { renderEmptyState } from '../../../components/list.ts'
import { renderOrderState } from '../../../components/order-text.ts'
import { renderTime } from '../../../components/time.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { requireOperatorContext } from '../../../page.ts'
import type { OperatorContext, PageContext, View } from '../../../page.ts'
import { renderCursorPager } from '../cursor-pager.ts'
import { createOperatorView } from '../operator-frame.ts'
import { consoleSections } from '../sections.ts'

const { path } = consoleSections.orders
const pageSize = 50

export async function createOperatorOrdersView(page: PageContext): Promise<View> {
  const context = requireOperatorContext(page)
  const { t, query, services } = context
  const { orders: texts } = t.console
  const state = orderStates.find((each) => each === query.get('state'))
  const cursor = query.get('before') ?? ''
  const isFirst = !/^ord_\w{1,40}$/.test(cursor)
  const filter = {
    limit: pageSize + 1,
    ...(state === undefined ? {} : { states: [state] }),
    ...(isFirst ? {} : { before: cursor }),
  }
  // What was sold before is there, also where nothing is sold now.
  const orders = await services.store.orders.list(filter)
  const shown = orders.slice(0, pageSize)
  const next = orders.length > pageSize ? shown.at(-1)?.id : undefined
  return createOperatorView(context, {
    title: t.console.sections.orders,
    lead: texts.lead,
    content: html`${renderFilter(context, state)}
      <section class="card">
        ${shown.length === 0 ? renderEmptyState('list', texts.none) : renderTable(context, shown)}
        ${renderCursorPager(context, {
          label: t.console.sections.orders,
          first: toAddress(state),
          isFirst,
          next: next === undefined ? null : toAddress(state, next),
        })}
      </section>`,
  })
}

function toAddress(state: OrderState | undefined, before?: string): string {
  const values = { state: state ?? '', before: before ?? '' }
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== ''))
  return query.size === 0 ? path : `${path}?${query}`
}

function renderFilter({ t }: OperatorContext, state: OrderState | undefined): Html {
  return html`<form class="card pad filter-row" method="get" action="${path}">
    <div class="field">
      <label for="state">${t.orders.state}</label>
      <select id="state" name="state">
        <option value="">${t.console.audit.anyEvent}</option>
        ${orderStates.map(
          (each) => html`<option value="${each}" ${each === state && html`selected`}>${t.orders.states[each]}</option>`,
        )}
      </select>
    </div>
    <button class="button">${t.console.audit.show}</button>
  </form>`
}

function renderTable(context: OperatorContext, orders: readonly Order[]): Html {
  const { t, language } = context
  return renderDataTable({
    label: t.console.sections.orders,
    look: '',
    columns: [
      { title: t.orders.order },
      { title: t.orders.item },
      { title: t.orders.state },
      { title: t.orders.paid, isNumber: true },
      { title: t.console.orders.created },
    ],
    rows: orders.map((order) => ({
      cells: [
        html`<a href="${path}/${order.id}">${order.number}</a>`,
        html`${formatOrderTitle(order.item, language)}`,
        renderOrderState(context, order),
        html`${order.paid === null ? '–' : formatPrice(order.paid, language)}`,
        renderTime(context, order.createdAt, 'date'),
      ],
    })),
  })
}
