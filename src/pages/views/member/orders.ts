/** `/account/orders`: what was bought, the renewal, and whether bought packs are used. */
import { formatPrice } from '../../../domain/billing/money.ts'
import type { Order } from '../../../domain/billing/orders/order.ts'
import { formatOrderTitle } from '../../../domain/billing/orders/order-title.ts'
import type { Subscription } from '../../../domain/billing/subscriptions/subscription.ts'
import {
  cancelRenewal,
  findPaidSubscription,
  openPaymentPortal,
  requireOrders,
  setSpendsPacks,
} from '../../../services/member-orders.ts'
import { renderDataTable } from '../../components/data-table.ts'
import { renderDialog, renderDialogEnd } from '../../components/dialog.ts'
import { createCardView } from '../../components/card-page.ts'
import { PageForm } from '../../components/forms/form.ts'
import { renderEmptyState } from '../../components/list.ts'
import { renderOrderState } from '../../components/order-text.ts'
import { renderTime } from '../../components/time.ts'
import { formatDate } from '../../format.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { interpolate, requireMember } from '../../page.ts'
import type { MemberContext, PageAction, PageContext, View } from '../../page.ts'
import { createMemberView } from './member-frame.ts'

const path = '/account/orders'
const pageSize = 25

export const ordersActions: Readonly<Record<string, PageAction>> = {
  async cancel_renewal({ services, viewer }) {
    await cancelRenewal(services, viewer.id)
    return { path, done: 'renewal_cancelled' }
  },

  async portal(context) {
    const url = await openPaymentPortal(context.services, context.viewer.id)
    const { renewal } = context.t.orders
    const content = html`<p class="sub">${renewal.toPortal}</p>
      <p><a class="button block" href="${url}">${renewal.openPortal}</a></p>`
    return { ...createCardView({ title: renewal.portal, content }), refreshTo: url }
  },

  async use_packs({ services, viewer }, { subject }) {
    const isUsed = subject === 'on'
    await setSpendsPacks(services, viewer.id, isUsed)
    return { path, done: isUsed ? 'packs_on' : 'packs_off' }
  },
}

export const getOrdersNotices = ({ orders }: PageContext['t']): Readonly<Record<string, string>> => ({
  renewal_cancelled: orders.renewal.done,
  packs_on: orders.packs.switchedOn,
  packs_off: orders.packs.switchedOff,
})

export async function createOrdersView(page: PageContext): Promise<View> {
  const context = requireMember(page)
  const { t, query, services, viewer } = context
  const before = /^ord_\w{1,40}$/.exec(query.get('before') ?? '')?.[0]
  const orders = await requireOrders(services).list({
    account: viewer.id,
    limit: pageSize + 1,
    ...(before === undefined ? {} : { before }),
  })
  const last = orders.length > pageSize ? orders[pageSize - 1] : undefined
  const subscription = await findPaidSubscription(services, viewer.id)
  return createMemberView(context, {
    title: t.orders.title,
    lead: t.orders.lead,
    end: html`<a class="button quiet small" href="/plans">${t.orders.toPlans}</a>`,
    content: html`${subscription !== undefined && renderRenewal(context, subscription)}
      <section class="card">
        ${orders.length === 0 ? renderEmptyState('list', t.orders.empty) : renderOrders(context, orders.slice(0, pageSize))}
        ${last !== undefined && html`<p class="pad-rest"><a href="${path}?before=${last.id}">${t.orders.older}</a></p>`}
      </section>
      ${services.config.packs.length > 0 && renderPackUse(context, await services.store.accounts.readSpendsPacks(viewer.id))}`,
  })
}

function renderOrders(context: MemberContext, orders: readonly Order[]): Html {
  const { t, language } = context
  const { orders: texts } = t
  return renderDataTable({
    label: texts.title,
    columns: [
      { title: texts.order },
      { title: texts.item },
      { title: texts.date },
      { title: texts.amount, isNumber: true },
      { title: texts.state },
    ],
    rows: orders.map((order) => ({
      cells: [
        html`<a href="${path}/${order.id}">${order.number}</a>`,
        html`<span>${formatOrderTitle(order.item, language)}</span>`,
        renderTime(context, order.createdAt, 'date'),
        html`<span>${formatPrice(order.paid ?? order.due, language)}</span>`,
        renderOrderState(context, order),
      ],
    })),
  })
}

function renderRenewal(context: MemberContext, { state, renewal, terms, endsAt }: Subscription): Html {
  const { t, locale, services } = context
  const { renewal: texts } = t.orders
  const end = endsAt === null ? '' : formatDate(endsAt, locale, services.config.timeZone)
  const values = { plan: terms.plan.name, date: end }
  const isCharged = renewal === 'provider' && state !== 'cancelled'
  const text =
    renewal !== 'provider'
      ? texts.manual
      : state === 'waiting'
        ? texts.waits
        : state === 'cancelled'
          ? texts.cancelled
          : state === 'past_due'
            ? texts.pastDue
            : texts.renews
  const form = new PageForm(context, 'cancel_renewal')
  return html`<section class="card pad" aria-labelledby="title-renewal">
    <div class="card-head"><h2 id="title-renewal">${texts.title}</h2></div>
    <p>${interpolate(text, values)}</p>
    <div class="order-actions">
      ${renewal !== 'provider' && html`<a class="button quiet" href="/plans?plan=${terms.plan.id}">${interpolate(texts.renew, values)}</a>`}
      ${renewal === 'provider' && new PageForm(context, 'portal').render({ content: html`<button class="button quiet">${texts.portal}</button>` })}
      ${
        isCharged &&
        renderDialog({
          id: 'ask-renewal',
          opener: texts.cancel,
          look: 'danger-quiet',
          title: texts.ask,
          isOpen: form.isRedrawn,
          content: form.render({
            content: html`<p>${interpolate(state === 'waiting' ? texts.waitingText : texts.text, values)}</p>
              ${renderDialogEnd(context, texts.cancel)}`,
          }),
        })
      }
    </div>
  </section>`
}

function renderPackUse(context: MemberContext, isUsed: boolean): Html {
  const { packs: texts } = context.t.orders
  const form = new PageForm(context, 'use_packs', isUsed ? 'off' : 'on')
  return html`<section class="card pad" aria-labelledby="title-packs">
    <div class="card-head"><h2 id="title-packs">${texts.title}</h2></div>
    <p>${isUsed ? texts.on : texts.off}</p>
    <div class="order-actions">
      ${form.render({ content: html`<button class="button quiet">${isUsed ? texts.turnOff : texts.turnOn}</button>` })}
    </div>
  </section>`
}
