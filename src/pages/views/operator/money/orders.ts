/** `/operator/orders`: all orders, by state, or those that were paid or refunded in a span of days; newest first. */
import { formatPrice } from '../../../../domain/billing/money.ts'
import { orderStates } from '../../../../domain/billing/orders/order.ts'
import type { Order, OrderFilter, OrderState } from '../../../../domain/billing/orders/order.ts'
import { formatOrderTitle } from '../../../../domain/billing/orders/order-title.ts'
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
import { packsName } from './money-query.ts'

const { path } = consoleSections.orders
const pageSize = 50

export async function createOperatorOrdersView(page: PageContext): Promise<View> {
  const context = requireOperatorContext(page)
  const { t, query, services } = context
  const { orders: texts } = t.console
  const search = readSearch(context)
  const cursor = query.get('before') ?? ''
  const isFirst = !/^ord_\w{1,40}$/.test(cursor)
  const filter = {
    limit: pageSize + 1,
    ...toFilter(context, search),
    ...(isFirst ? {} : { before: cursor }),
  }
  // What was sold before is there, also where nothing is sold now.
  const orders = await services.store.orders.list(filter)
  const shownOrders = orders.slice(0, pageSize)
  const next = orders.length > pageSize ? shownOrders.at(-1)?.id : undefined
  return createOperatorView(context, {
    title: t.console.sections.orders,
    lead: texts.lead,
    content: html`${renderFilter(context, search)}
      <section class="card">
        ${shownOrders.length === 0 ? renderEmptyState('list', texts.none) : renderTable(context, shownOrders)}
        ${renderCursorPager(context, {
          label: t.console.sections.orders,
          first: toAddress(search),
          isFirst,
          next: next === undefined ? null : toAddress(search, next),
        })}
      </section>`,
  })
}

interface OrderSearch {
  readonly state: OrderState | undefined
  readonly when: 'paid' | 'returned' | undefined
  /** Days of the service's time zone, both in the span; empty: no bound. */
  readonly from: string
  readonly to: string
  readonly plan: string
}

const spanNames = ['paid', 'returned'] as const

/** A day that does not exist is no bound. */
function readSearch({ query, services }: OperatorContext): OrderSearch {
  const readDay = (name: string): string => {
    const text = query.get(name) ?? ''
    return /^\d{4}-\d\d-\d\d$/.test(text) && services.calendar.getDayStart(text) !== undefined ? text : ''
  }
  const from = readDay('from')
  const to = readDay('to')
  const when = spanNames.find((each) => each === query.get('when'))
  return {
    state: orderStates.find((each) => each === query.get('state')),
    when: when ?? (from === '' && to === '' ? undefined : 'paid'),
    from,
    to,
    plan: (query.get('plan') ?? '').slice(0, 128),
  }
}

function toFilter({ services }: OperatorContext, { state, when, from, to, plan }: OrderSearch): Omit<OrderFilter, 'limit'> {
  const { calendar } = services
  const start = from === '' ? 0 : (calendar.getDayStart(from) ?? 0)
  const last = to === '' ? undefined : calendar.getDayStart(to)
  const end = last === undefined ? Number.MAX_SAFE_INTEGER : calendar.getPeriods(last).day.end
  return {
    ...(state === undefined ? {} : { states: [state] }),
    ...(when === undefined ? {} : { [when]: { from: start, to: end } }),
    ...(plan === '' ? {} : { plan: plan === packsName ? null : plan }),
  }
}

function toAddress(search: OrderSearch, before?: string): string {
  const values = { ...search, state: search.state ?? '', when: search.when ?? '', before: before ?? '' }
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== ''))
  return query.size === 0 ? path : `${path}?${query}`
}

function renderFilter({ t }: OperatorContext, { state, when, from, to, plan }: OrderSearch): Html {
  const { orders: texts } = t.console
  const renderDay = (name: 'from' | 'to', label: string, value: string): Html =>
    html`<div class="field">
      <label for="${name}">${label}</label>
      <input id="${name}" name="${name}" type="date" value="${value}" />
    </div>`
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
    <div class="field">
      <label for="when">${texts.when}</label>
      <select id="when" name="when">
        <option value="">${t.console.audit.anyEvent}</option>
        ${spanNames.map((each) => html`<option value="${each}" ${each === when && html`selected`}>${texts.whens[each]}</option>`)}
      </select>
    </div>
    ${renderDay('from', t.console.money.first, from)} ${renderDay('to', t.console.money.last, to)}
    ${plan !== '' && html`<input type="hidden" name="plan" value="${plan}" />`}
    <button class="button">${t.console.audit.show}</button>
    ${
      plan !== '' &&
      html`<p class="sub breakable">
        ${plan === packsName ? t.console.money.packs : plan} ·
        <a href="${path}">${t.console.money.everything}</a>
      </p>`
    }
  </form>`
}

function renderTable(context: OperatorContext, orders: readonly Order[]): Html {
  const { t, language } = context
  return renderDataTable({
    label: t.console.sections.orders,
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
