/** `/account/orders/{id}/receipt`: the receipt of an order that is paid, for paper. */
import type { Money } from '../../../domain/billing/money.ts'
import { formatPrice } from '../../../domain/billing/money.ts'
import type { Order } from '../../../domain/billing/orders/order.ts'
import { formatOrderTitle } from '../../../domain/billing/orders/order-title.ts'
import { GatewayError } from '../../../errors.ts'
import { findOrder, isPaid } from '../../../services/member-orders.ts'
import { renderFacts } from '../../components/list.ts'
import { getRefunded, nameProvider } from '../../components/order-text.ts'
import { formatDate } from '../../format.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { interpolate, requireMember } from '../../page.ts'
import type { MemberContext, PageContext, View } from '../../page.ts'

export async function createReceiptView(page: PageContext): Promise<View> {
  const context = requireMember(page)
  const { t, path, services, viewer } = context
  const id = /^\/account\/orders\/(\w+)\/receipt$/.exec(path)?.[1] ?? ''
  const order = await findOrder(services, viewer.id, id)
  if (!isPaid(order))
    throw new GatewayError('not_found', {
      message: { en: 'This order is not paid, so it has no receipt.', zh: '该订单尚未付款，因此没有收据。' },
    })
  const title = interpolate(t.orders.receiptTitle, { number: order.number })
  return {
    title,
    styles: 'account.css',
    script: { name: 'member', texts: {}, props: {} },
    main: html`<article class="shell receipt">
      <header class="receipt-head">
        <h1>${title}</h1>
        <p><strong>${services.config.brand.name}</strong></p>
      </header>
      ${renderParties(context, order)} ${renderLines(context, order)} ${renderTaxText(context)}
      <p class="sub receipt-links">${t.orders.receiptLead} <a href="/account/orders/${id}">${t.orders.backToOrder}</a></p>
    </article>`,
  }
}

function renderParties(context: MemberContext, { number, paidAt, provider, buyer }: Order): Html {
  const { t, locale, services, viewer } = context
  const { orders: texts } = t
  const { legalLines } = services.config.payments
  return renderFacts([
    [texts.order, number],
    // A day of the operator's calendar, as in the operator's books.
    [texts.paidOn, paidAt === null ? null : formatDate(paidAt, locale, services.config.timeZone)],
    [texts.provider, nameProvider(context, provider)],
    [texts.buyer, buyer.length === 0 ? (viewer.email ?? viewer.id) : renderPartyLines(buyer)],
    [texts.seller, legalLines.length === 0 ? services.config.brand.name : renderPartyLines(legalLines)],
  ])
}

function renderPartyLines(lines: readonly string[]): Html {
  return html`<span>${lines.map((line) => html`<span class="legal-line">${line}</span>`)}</span>`
}

function renderLines(context: MemberContext, order: Order): Html {
  const { t, language } = context
  const { orders: texts } = t
  const { item, price, credit, due, paid } = order
  const row = (name: string, money: Money, sign = ''): Html =>
    html`<tr>
      <th scope="row">${name}</th>
      <td class="number">${sign}${formatPrice(money, language)}</td>
    </tr>`
  return html`<table class="receipt-lines">
    <thead>
      <tr>
        <th scope="col">${texts.item}</th>
        <th scope="col" class="number">${texts.amount}</th>
      </tr>
    </thead>
    <tbody>
      ${row(formatOrderTitle(item, language), price)}
      ${credit > 0 && row(texts.credit, { amount: credit, currency: price.currency }, '−')}
    </tbody>
    <tfoot>
      ${row(texts.total, paid ?? due)} ${order.refunded > 0 && row(texts.refunded, getRefunded(order), '−')}
    </tfoot>
  </table>`
}

function renderTaxText({ services, language }: MemberContext): Html {
  const text = services.config.payments.taxText?.[language]
  return text === undefined ? html`` : html`<p>${text}</p>`
}
