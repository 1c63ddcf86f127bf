/** Refunds as operators make them, for the operator API and the console alike. */
import { formatMoney } from '../domain/billing/money.ts'
import type { Order } from '../domain/billing/orders/order.ts'
import type { RefundAnswer, RefundQuote, RefundRefusal, RefundRequest } from '../domain/services/orders/order-answers.ts'
import type { OperatorAuthor } from '../domain/services/operators/operator-author.ts'
import { GatewayError } from '../errors.ts'
import type { LocalizedText } from '../errors.ts'
import type { Services } from './services.ts'

export type RefundOutcome = Exclude<RefundAnswer, { readonly kind: 'refused' }>

/** Null where nothing can be refunded here. */
export async function quoteRefund(order: Order, { orders }: Pick<Services, 'orders'>): Promise<RefundQuote | null> {
  const quote = await orders?.quoteRefund(order.id)
  return quote === undefined || quote.max.amount === 0 ? null : quote
}

/** @throws GatewayError why nothing was refunded */
export async function refundOrder(
  order: Order,
  request: RefundRequest,
  author: OperatorAuthor,
  services: Pick<Services, 'orders'>,
): Promise<RefundOutcome> {
  const { orders } = services
  if (orders === null) throw new GatewayError('conflict', { message: nothingSoldMessage })
  const answer = await orders.refund(order.id, request, author)
  if (answer.kind !== 'refused') return answer
  if (answer.reason === 'unknown') throw new GatewayError('not_found')
  if (answer.reason === 'over_daily_limit') throw new GatewayError('permission_denied', { message: refusals.over_daily_limit })
  const quote = answer.reason === 'too_much' ? await quoteRefund(order, services) : null
  const message = quote === null ? refusals[answer.reason] : createTooMuchMessage(quote)
  throw new GatewayError('conflict', { message, ...(answer.reason === 'too_much' ? { param: 'amount' } : {}) })
}

function createTooMuchMessage({ max }: RefundQuote): LocalizedText {
  return {
    en: `At most ${formatMoney(max)} can be refunded: the rest was refunded, spent, or is held by running turns. Nothing was changed.`,
    zh: `最多可退 ${formatMoney(max)}：其余已退、已使用或被进行中的请求占用。未做任何更改。`,
  }
}

const refusals = {
  not_paid: {
    en: 'This order is not paid, so there is nothing to refund.',
    zh: '该订单未付款，无款可退。',
  },
  too_much: {
    en: 'This is more than can be refunded. Nothing was changed.',
    zh: '超过可退金额，未做任何更改。',
  },
  nothing_left: {
    en: 'Nothing of this order can be refunded: its credits were spent, or it was refunded.',
    zh: '该订单已无款可退：点数已使用，或已经退款。',
  },
  running: {
    en: 'A refund of this order runs already. Nothing was done a second time.',
    zh: '该订单正在退款，未重复执行。',
  },
  spent: {
    en: 'Credits of this order were spent while it was being refunded, so nothing was refunded. Look at what is left, and try again.',
    zh: '退款期间该订单的点数被使用，因此未退款。请查看剩余后重试。',
  },
  over_daily_limit: {
    en: 'This is more than the key may move today. Nothing was changed.',
    zh: '超过该密钥今日的额度上限，未做任何更改。',
  },
} as const satisfies Readonly<Record<Exclude<RefundRefusal, 'unknown'>, LocalizedText>>

const nothingSoldMessage = {
  en: 'This server has no payment providers, so it refunds nothing. Use: svc-gateway order refund',
  zh: '本服务未配置支付服务，无法在此退款。请使用：svc-gateway order refund',
}
