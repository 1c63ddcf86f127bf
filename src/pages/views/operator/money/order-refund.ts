/** The refund of an order: what it gives and takes is shown before, and the form does it once. */
import { formatDecimal, formatPrice, parseMoney } from '../../../../domain/billing/money.ts'
import type { Order } from '../../../../domain/billing/orders/order.ts'
import type { RefundQuote } from '../../../../domain/services/orders/order-answers.ts'
import { GatewayError } from '../../../../errors.ts'
import { quoteRefund, refundOrder } from '../../../../services/order-refunds.ts'
import { createErrorInWords, readText } from '../../../components/forms/fields.ts'
import { renderFacts } from '../../../components/list.ts'
import { formatNumber } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate } from '../../../page.ts'
import type { OperatorAction, OperatorContext, SubmittedForm } from '../../../page.ts'
import { readAuthor, renderActionForm } from '../action-form.ts'
import { consoleSections } from '../sections.ts'

const maxAmountChars = 20

export const orderActions = {
  refund: {
    access: { scope: 'money:write', needsStepUp: true },
    async run(context, form) {
      const order = await findOrder(context)
      const author = readAuthor(context, form)
      const amount = readAmount(form, order)
      const outcome = await refundOrder(order, { amount, reason: author.reason }, author, context.services)
      if (outcome.kind === 'failed') throw createErrorInWords('conflict', 'refund', (t) => t.console.orders.refund.failed)
      if (outcome.kind === 'started') return { path: context.path, done: 'refund_started' }
      return { path: context.path, done: outcome.byHand ? 'refunded_by_hand' : 'refunded' }
    },
  },
} as const satisfies Readonly<Record<string, OperatorAction>>

/** The order of the page's address. @throws GatewayError `not_found` */
export async function findOrder({ path, services }: OperatorContext): Promise<Order> {
  const id = path.slice(consoleSections.orders.path.length + 1)
  const order = /^ord_\w{1,40}$/.test(id) ? await services.store.orders.find(id) : undefined
  if (order === undefined) throw new GatewayError('not_found')
  return order
}

export async function renderRefund(context: OperatorContext, order: Order): Promise<Html> {
  const { t, services } = context
  const { refund: texts } = t.console.orders
  if (order.paid !== null && services.orders === null) return html`<p class="sub">${texts.byCommand}</p>`
  const quote = await quoteRefund(order, services)
  if (quote === null) return html``
  return html`<div class="console-actions">
    ${renderActionForm(context, {
      actions: orderActions,
      action: 'refund',
      opener: texts.open,
      title: interpolate(texts.title, { number: order.number }),
      isDanger: true,
      isReasonShown: true,
      fields: (form) =>
        html`${renderFacts([
          [texts.back, html`<strong>${interpolate(texts.most, { amount: formatPrice(quote.max, context.language) })}</strong>`],
          [texts.taken, describeTaken(context, order, quote)],
          [texts.way, quote.isByHand ? texts.byHand : texts.byProvider],
        ])}
        ${form.renderField({
          name: 'amount',
          label: interpolate(texts.amount, { currency: quote.max.currency }),
          value: formatDecimal(quote.max),
          hint: texts.amountHint,
          attributes: html`inputmode="decimal" autocomplete="off" maxlength="${maxAmountChars}" required`,
        })}`,
    })}
  </div>`
}

function describeTaken({ t, language }: OperatorContext, { item, state }: Order, quote: RefundQuote): string {
  const { refund: texts } = t.console.orders
  if (item.kind === 'plan') return quote.endsPlan ? texts.endsPlan : texts.keepsPlan
  if (state === 'paid' || quote.unspentCredits === null) return texts.takesNothing
  return interpolate(texts.takesCredits, {
    credits: formatNumber(quote.unspentCredits, language),
    pool: t.account[item.pool],
  })
}

/** Minor units; what the operator saw is in the field, so that nothing else is refunded. @throws GatewayError at the field */
function readAmount(form: SubmittedForm, { paid, due }: Order): number {
  const { currency } = paid ?? due
  const typedAmount = readText(form, 'amount', maxAmountChars)
  const money = parseMoney(typedAmount) ?? parseMoney(`${typedAmount} ${currency}`)
  if (money === undefined || money.currency !== currency || money.amount === 0)
    throw createErrorInWords('invalid_request', 'amount', (t) => interpolate(t.console.orders.refund.noAmount, { currency }))
  return money.amount
}
