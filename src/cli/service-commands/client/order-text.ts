/** Orders in words. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import type { showOrder } from '../../../api/membership/orders.ts'
import type { Context } from '../../context.ts'
import type { LocalizedText } from '../../../command-table/localized-text.ts'
import { sanitizeLine } from '../../terminal/sanitize-text.ts'
import type { DeepPartial } from './service-client.ts'

export type ExplainedOrder = DeepPartial<ResponseOf<typeof showOrder>>
export type ShownOrder = NonNullable<ExplainedOrder['order']>

export function formatOrderState({ localize }: Context, { state }: ShownOrder): string {
  const words = state === undefined ? undefined : stateWords[state]
  return words === undefined ? sanitizeLine(state ?? '') : localize(words)
}

/** What was paid, or is to be. */
export function formatOrderAmount({ paid, due }: ShownOrder): string {
  return sanitizeLine((paid ?? due)?.text ?? '')
}

/** The most important thing that is missing; undefined where nothing is. */
export function describeMissing({ localize }: Context, { missing = [] }: ExplainedOrder): string | undefined {
  const [first] = missing
  const words = first === undefined ? undefined : missingWords[first]
  return words === undefined ? undefined : localize(words)
}

const stateWords: Readonly<Record<string, LocalizedText>> = {
  created: { en: 'not paid', zh: '未付款' },
  sent: { en: 'not paid', zh: '未付款' },
  paid: { en: 'paid', zh: '已付款' },
  granted: { en: 'delivered', zh: '已到账' },
  refunding: { en: 'being refunded', zh: '退款中' },
  refunded: { en: 'refunded', zh: '已退款' },
  disputed: { en: 'disputed', zh: '有争议' },
  expired: { en: 'expired', zh: '已过期' },
  cancelled: { en: 'cancelled', zh: '已取消' },
}

const askedOnly: LocalizedText = {
  en: 'The payment service has not reported it; it is asked again by itself.',
  zh: '支付服务尚未通知，系统会自动再次查询。',
}
const operatorActs: LocalizedText = {
  en: 'The operator has been told and can deliver or refund it.',
  zh: '已通知管理员，可为你开通或退款。',
}

const missingWords: Readonly<Record<string, LocalizedText>> = {
  not_opened: { en: 'The payment service did not answer; --check tries again.', zh: '支付服务没有响应，可用 --check 重试。' },
  not_paid: { en: 'The payment service has seen no payment yet.', zh: '支付服务尚未收到付款。' },
  waiting_for_operator: {
    en: 'The operator confirms the payment by hand when the money has arrived.',
    zh: '款项到账后由管理员手动确认。',
  },
  no_notification: askedOnly,
  notification_refused: askedOnly,
  provider_unavailable: {
    en: 'The payment service does not answer; it is asked again by itself, and your payment is not lost.',
    zh: '支付服务没有响应，系统会自动再次查询，你的付款不会丢失。',
  },
  misconfigured: { en: 'The payment is not set up correctly; tell the operator.', zh: '付款设置有误，请告知管理员。' },
  amount: operatorActs,
  currency: operatorActs,
  payment_of_another_order: operatorActs,
  account_deleted: operatorActs,
  never_begins: operatorActs,
  credit_used: operatorActs,
  not_delivered: { en: 'The payment was seen, and what you bought follows.', zh: '已看到付款，购买的内容稍后到账。' },
}
