/**
 * `/account/orders/{id}`: one order and its story. It is also the page after the payment: opening it asks the payment service about an order
 * that is open, so that a lost notification delays nothing.
 */
import { formatPrice } from '../../../domain/billing/money.ts'
import { maxBuyerLineChars } from '../../../domain/billing/orders/order.ts'
import type { Order } from '../../../domain/billing/orders/order.ts'
import { formatOrderTitle } from '../../../domain/billing/orders/order-title.ts'
import type { OrderExplanation, OrderFinding } from '../../../domain/services/orders/order-answers.ts'
import { checkOrder, findOrder, isOpen, isPaid, refreshOrder, requireOrders, setBuyer } from '../../../services/member-orders.ts'
import { renderDialog, renderDialogEnd } from '../../components/dialog.ts'
import { readOptional } from '../../components/forms/fields.ts'
import { PageForm } from '../../components/forms/form.ts'
import { renderFacts, renderRows } from '../../components/list.ts'
import { describeOrderState, getRefunded, nameProvider, renderOrderState } from '../../components/order-text.ts'
import { renderTime } from '../../components/time.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { interpolate, requireMember } from '../../page.ts'
import type { MemberContext, PageAction, PageContext, View } from '../../page.ts'
import { createMemberView } from './member-frame.ts'

const prefix = '/account/orders/'

export const orderActions: Readonly<Record<string, PageAction>> = {
  async check({ services, viewer, path }) {
    await checkOrder(services, await findOrder(services, viewer.id, readId(path)), 'member')
    return { path, done: 'checked' }
  },

  async cancel({ services, viewer, path }) {
    const { id } = await findOrder(services, viewer.id, readId(path))
    const order = await requireOrders(services).cancel(id, 'member')
    return { path, done: order?.state === 'cancelled' ? 'cancelled' : 'paid_meanwhile' }
  },

  async buyer({ services, viewer, path }, form) {
    const lines = buyerFields.flatMap((name) => readOptional(form, name, maxBuyerLineChars) ?? [])
    await setBuyer(services, await findOrder(services, viewer.id, readId(path)), lines)
    return { path, done: 'buyer_saved' }
  },
}

const buyerFields = ['name', 'line1', 'line2', 'line3'] as const

export const getOrderNotices = ({ orders }: PageContext['t']): Readonly<Record<string, string>> => ({
  checked: orders.checked,
  check_again: orders.checkedAgain,
  cancelled: orders.cancelled,
  paid_meanwhile: orders.paidMeanwhile,
  buyer_saved: orders.buyerSaved,
})

export async function createOrderView(page: PageContext): Promise<View> {
  const context = requireMember(page)
  const { t, path, services, viewer } = context
  const storedOrder = await findOrder(services, viewer.id, readId(path))
  // A form was refused: the same answer would follow.
  const order = context.redrawn === null ? await refreshOrder(services, storedOrder) : storedOrder
  const explanation = await requireOrders(services).explain(order.id)
  const title = interpolate(t.orders.orderTitle, { number: order.number })
  return createMemberView(context, {
    title,
    lead: formatOrderTitle(order.item, context.language),
    end: renderOrderState(context, order),
    content: html`${renderStanding(context, order, explanation)} ${renderOrderFacts(context, order)}
    ${order.state !== 'expired' && order.state !== 'cancelled' && renderBuyer(context, order)}
    ${explanation !== undefined && renderStory(context, explanation)}`,
  })
}

function readId(path: string): string {
  return path.slice(prefix.length)
}

function renderStanding(context: MemberContext, order: Order, explanation: OrderExplanation | undefined): Html {
  const { t, services, language } = context
  const { orders: texts } = t
  const isByHand = services.paymentProviders.get(order.provider)?.isConfirmedByHand === true
  const isPayable = order.state === 'sent' && order.url !== null
  const amount = formatPrice(order.due, language)
  return html`<section class="card pad order-now" aria-label="${texts.state}">
    <p role="status">${describeOrderState(context, order, isByHand)}</p>
    ${renderFindings(context, order, explanation?.findings ?? [])}
    ${
      order.state === 'sent' &&
      order.instructions !== null &&
      html`<h2>${texts.howToPay}</h2>
        <p class="instructions">${order.instructions}</p>`
    }
    <div class="order-actions">
      ${isPayable && html`<a class="button" href="${order.url}">${interpolate(texts.pay, { amount })}</a>`}
      ${isOpen(order) && !(isByHand && order.state === 'sent') && new PageForm(context, 'check').render({ content: html`<button class="button quiet">${texts.check}</button>` })}
      ${(order.state === 'created' || order.state === 'sent') && renderCancel(context)}
      ${isPaid(order) && html`<a class="button quiet" href="${prefix}${order.id}/receipt">${texts.receipt}</a>`}
      ${order.state === 'granted' && html`<a class="button quiet" href="/account">${texts.toUsage}</a>`}
    </div>
  </section>`
}

/** What is missing. A sentence that only repeats the state is left out. */
function renderFindings(context: MemberContext, order: Order, findings: readonly OrderFinding[]): Html {
  const { findings: texts } = context.t.orders
  const [first] = findings
  if (first === undefined || first.code === order.state || first.code === 'not_paid' || first.code === 'waiting_for_operator')
    return html``
  return html`<p class="notice warn">${texts[first.code]}</p>`
}

function renderCancel(context: MemberContext): Html {
  const { orders: texts } = context.t
  const form = new PageForm(context, 'cancel')
  return renderDialog({
    id: 'ask-cancel',
    opener: texts.cancel,
    look: 'danger-quiet',
    title: texts.cancelTitle,
    isOpen: form.isRedrawn,
    content: form.render({
      content: html`<p>${texts.cancelText}</p>
        ${renderDialogEnd(context, texts.cancel)}`,
    }),
  })
}

function renderOrderFacts(context: MemberContext, order: Order): Html {
  const { t, language } = context
  const { orders: texts } = t
  const { price, credit, due, paid, paidAt } = order
  return html`<section class="card pad" aria-labelledby="title-facts">
    <div class="card-head"><h2 id="title-facts">${texts.facts}</h2></div>
    ${renderFacts([
      [texts.order, order.number],
      [texts.item, formatOrderTitle(order.item, language)],
      [texts.checkout.price, formatPrice(price, language)],
      [texts.credit, credit === 0 ? null : `−${formatPrice({ amount: credit, currency: price.currency }, language)}`],
      [texts.checkout.due, formatPrice(due, language)],
      [texts.provider, nameProvider(context, order.provider)],
      [
        texts.paid,
        paid === null
          ? null
          : html`<span>${formatPrice(paid, language)} ${paidAt !== null && html`· ${renderTime(context, paidAt)}`}</span>`,
      ],
      [texts.refunded, order.refunded === 0 ? null : formatPrice(getRefunded(order), language)],
    ])}
  </section>`
}

/** The first line is the name. */
function renderBuyer(context: MemberContext, { buyer }: Order): Html {
  const { orders: texts } = context.t
  const form = new PageForm(context, 'buyer')
  const field = (index: number, label: string): Html =>
    form.renderField({
      name: buyerFields[index] ?? '',
      label,
      value: buyer[index] ?? '',
      attributes: html`maxlength="${maxBuyerLineChars}"
      autocomplete="${['name', 'address-line1', 'address-line2', 'country-name'][index] ?? 'off'}"`,
    })
  return html`<section class="card pad" aria-labelledby="title-buyer">
    <div class="card-head">
      <div>
        <h2 id="title-buyer">${texts.buyerTitle}</h2>
        <p class="sub">${texts.buyerLead}</p>
      </div>
    </div>
    ${form.render({
      content: html`${field(0, texts.buyerName)}
        ${[1, 2, 3].map((index) => field(index, interpolate(texts.buyerLine, { number: String(index) })))}
        <button class="button quiet">${texts.saveBuyer}</button>`,
    })}
  </section>`
}

function renderStory(context: MemberContext, { steps }: OrderExplanation): Html {
  const { orders: texts } = context.t
  return html`<section class="card" aria-labelledby="title-story">
    <div class="card-head pad-head"><h2 id="title-story">${texts.story}</h2></div>
    ${renderRows(
      steps,
      ({ at, kind }) =>
        html`<li class="log-row">
          <p class="row-line"><span>${texts.steps[kind]}</span> <span class="row-end sub">${renderTime(context, at)}</span></p>
        </li>`,
    )}
  </section>`
}
