/** Reads an order's story and says what is missing and which setting cures it. Pure. */
import { formatMoney } from '../../billing/money.ts'
import type { NotificationRecord, Order, OrderStep } from '../../billing/orders/order.ts'
import type { PaymentProvider } from '../../billing/orders/payment-provider.ts'
import { formatInstant } from '../../instant.ts'
import type { OrderFinding } from './order-answers.ts'

export interface ExplainInput {
  readonly order: Order
  readonly steps: readonly OrderStep[]
  readonly notifications: NotificationRecord | undefined
  /** Undefined: the provider is not configured any more. */
  readonly provider: Pick<PaymentProvider, 'isConfirmedByHand' | 'canRefund'> | undefined
  /** Where the provider is to send notifications. */
  readonly notifyUrl: string
  /** Whether the pack of the order is in the ledger; null where the order has none. */
  readonly isDelivered: boolean | null
}

export function explainOrder(input: ExplainInput): readonly OrderFinding[] {
  const { order, provider } = input
  const findings: OrderFinding[] = []
  const add = (code: OrderFinding['code'], operator: string, setting: string | null = null, facts: OrderFinding['facts'] = {}) =>
    findings.push({ code, operator, setting, facts })

  if (order.problem !== null) addProblem(order, add)
  const again = input.steps.find(({ kind }) => kind === 'paid_again')
  if (again !== undefined)
    add(
      'paid_twice',
      `The operator confirmed this order, and ${order.provider} has ${again.facts['money'] ?? 'money'} for it too (payment ${again.facts['payment'] ?? ''}). If that is other money than what was confirmed, return it on the site of ${order.provider}: it grants nothing.`,
    )
  if (order.state === 'disputed')
    add(
      'disputed',
      "The member's bank demands the money back: answer the dispute at the provider. The unspent credits of a pack are locked until it is decided.",
    )
  if (order.state === 'refunding')
    add('refunding', 'The provider is asked until the refund is final; what fails is given back to the member.')
  if (order.state === 'granted' && input.isDelivered === false)
    add(
      'not_delivered',
      'The pack is granted, and is delivered by the next sweep within seconds; if it stays, see the log of the job "pay boosts".',
    )
  if (provider === undefined && !isFinal(order))
    add(
      'misconfigured',
      `The provider '${order.provider}' is not configured any more, so it cannot be asked. Configure it again until its orders are closed.`,
      `payments.providers.${order.provider}`,
    )
  else if (order.failure !== null) addFailure(order, order.failure, add)
  if (order.state === 'created' && order.failure === null)
    add('not_opened', 'The provider has not confirmed this order yet; it is asked again within minutes.')
  if (order.state === 'sent' && order.problem === null) addWaiting(input, add)
  if (order.state === 'expired')
    add('expired', `Not paid before ${formatInstant(order.expiresAt) ?? ''}. Money that arrives later is still granted.`)
  if (order.state === 'cancelled') add('cancelled', 'Cancelled before it was paid. Money that arrives later is still granted.')
  return findings
}

type Add = (code: OrderFinding['code'], operator: string, setting?: string | null, facts?: OrderFinding['facts']) => void

function addProblem(order: Order, add: Add): void {
  const dueText = formatMoney(order.due)
  const paidText = order.paid === null ? 'an amount' : formatMoney(order.paid)
  const refund = `svc-gateway order refund ${order.number} --reason …`
  switch (order.problem) {
    case 'amount':
      return add(
        'amount',
        `${paidText} arrived, and ${dueText} is due. Ask the member for the rest and record all of it (svc-gateway order confirm ${order.number} --received …), or return it (${refund}).`,
        null,
        { paid: paidText, due: dueText },
      )
    case 'currency':
      return add('currency', `${paidText} arrived, and ${dueText} is due in another currency. Return it: ${refund}`, null, {
        paid: paidText,
        due: dueText,
      })
    case 'payment_of_another_order':
      return add(
        'payment_of_another_order',
        'The payment that the provider names belongs to another order already, so it pays nothing here. Nothing is to be returned.',
      )
    case 'account_deleted':
      return add('account_deleted', `The account was deleted before the money arrived. Return it: ${refund}`)
    case 'never_begins':
      return add(
        'never_begins',
        `The account has a plan without an end that is as high, so this one would never begin. End that (svc-gateway account set-plan), or return the money: ${refund}`,
      )
    case 'credit_used':
      return add(
        'credit_used',
        `The unused days that were taken off the price no longer count: another order has used them, their payment is disputed or went back, or the money came too late. Return it: ${refund}`,
      )
    case null:
  }
}

function addFailure(order: Order, { reason, message, setting }: NonNullable<Order['failure']>, add: Add): void {
  const at = order.checkedAt === null ? 'never' : (formatInstant(order.checkedAt) ?? 'never')
  if (reason === 'unavailable')
    add(
      'provider_unavailable',
      `The provider gives no answer (${message}); its last one was ${at}. It is asked again without your help.`,
      setting,
    )
  else add('misconfigured', `The provider refuses: ${message}.${setting === null ? '' : ` Check ${setting}.`}`, setting)
}

function addWaiting({ order, notifications, provider, notifyUrl }: ExplainInput, add: Add): void {
  if (provider?.isConfirmedByHand === true)
    return add(
      'waiting_for_operator',
      `Waits for the transfer of ${formatMoney(order.due)} with the reference ${order.number}. When it has arrived: svc-gateway order confirm ${order.number} --received "${formatMoney(order.due)}"`,
      null,
      { due: formatMoney(order.due), number: order.number },
    )
  const lastCheck =
    order.checkedAt === null
      ? 'has not been asked yet'
      : `was asked ${formatInstant(order.checkedAt) ?? ''} and knows of no payment`
  add('not_paid', `The provider ${lastCheck}. The member has not paid, or the payment is not final.`)
  const secret = notifications?.setting ?? `payments.providers.${order.provider}`
  const { acceptedAt = null, refusedAt = null, refusal = null } = notifications ?? {}
  if (refusedAt !== null && refusedAt > (acceptedAt ?? 0))
    add(
      'notification_refused',
      `The last notification of ${order.provider} (${formatInstant(refusedAt) ?? ''}) was refused: ${refusal === 'signature' ? 'its signature did not fit, so the secret is probably that of another endpoint' : (refusal ?? '')}. Check ${secret}. Orders are granted nevertheless, because the provider is asked.`,
      secret,
    )
  else if (order.notifiedAt === null) {
    const last = acceptedAt === null ? 'ever' : `since ${formatInstant(acceptedAt) ?? ''}`
    add(
      'no_notification',
      `No notification about this order has arrived; none of ${order.provider} ${last}. If members wait for grants, check that the provider sends to ${notifyUrl} (svc-gateway doctor). Orders are granted nevertheless, because the provider is asked.`,
      'listen.siteUrl',
    )
  }
}

function isFinal({ state, nextCheckAt }: Order): boolean {
  return nextCheckAt === null && (state === 'granted' || state === 'refunded' || state === 'expired' || state === 'cancelled')
}
