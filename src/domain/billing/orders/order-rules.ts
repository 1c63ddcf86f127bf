/** The states of an order, and what an answer of the provider changes. Pure: `OrderService` reads, decides by it in a transaction, and writes. */
import { isRefundedInPart } from './order.ts'
import type { Order, OrderActor, OrderFailure, OrderProblem, OrderStep } from './order.ts'
import { formatMoney } from '../money.ts'
import type { PaymentFacts, OpenedCheckout } from './payment-provider.ts'
import type { PurchaseNotice } from './purchase-notice.ts'

const [secondMs, minuteMs, hourMs, dayMs] = [1_000, 60_000, 3_600_000, 86_400_000]

/** The pauses between questions to the provider; the last one repeats. */
const checkPausesMs = [20 * secondMs, minuteMs, 5 * minuteMs, 15 * minuteMs, hourMs, 6 * hourMs]

/** How long the provider's page can be used, and how long a transfer may take. */
export const checkoutLifetimeMs = 23 * hourMs
export const transferLifetimeMs = 14 * dayMs
/** No order waits longer for the next question to its provider. */
export const maxPauseMs = transferLifetimeMs
/** Money that arrives after the end of an order is found within this time without a notification. */
export const lateMs = 3 * dayMs

export interface Transition {
  readonly order: Order
  readonly steps: readonly OrderStep[]
}

export function computeNextCheck({ checks }: Pick<Order, 'checks'>, now: number): number {
  return now + (checkPausesMs[Math.min(checks, checkPausesMs.length - 1)] ?? 6 * hourMs)
}

/** The provider has opened the payment. */
export function recordOpened(
  order: Order,
  { reference, url, instructions }: OpenedCheckout,
  now: number,
  by: OrderActor,
): Transition {
  const sentOrder: Order = {
    ...order,
    state: 'sent',
    reference,
    url,
    instructions,
    sentAt: now,
    checks: 1,
    failure: null,
    nextCheckAt: computeNextCheck({ checks: 0 }, now),
    ...(url === null && instructions !== null ? { expiresAt: order.createdAt + transferLifetimeMs } : null),
  }
  return { order: sentOrder, steps: [{ at: now, kind: 'sent', by, facts: { provider: order.provider, reference } }] }
}

/** The provider gave no answer, or refused. The story gets a row for each new reason. */
export function recordFailure(order: Order, failure: OrderFailure, now: number, by: OrderActor): Transition {
  const isKnown = order.failure?.reason === failure.reason && order.failure.setting === failure.setting
  const next = { ...order, failure, checks: order.checks + 1, nextCheckAt: computeNextCheck(order, now) }
  const facts = {
    reason: failure.reason,
    message: failure.message,
    ...(failure.setting === null ? {} : { setting: failure.setting }),
  }
  return { order: next, steps: isKnown ? [] : [{ at: now, kind: 'provider_failed', by, facts }] }
}

/** Why this money grants nothing; null where it pays the order. More than is due includes tax. */
export function findPaymentProblem(order: Pick<Order, 'due'>, paid: Order['price']): OrderProblem | null {
  if (paid.currency !== order.due.currency) return 'currency'
  return paid.amount < order.due.amount ? 'amount' : null
}

/** Money was seen; what it grants is decided afterwards, in the same transaction. */
export function recordPayment(
  order: Order,
  {
    money,
    payment,
    subscription,
  }: { readonly money: Order['price']; readonly payment: string | null; readonly subscription: string | null },
  now: number,
  by: OrderActor,
): Transition {
  const paidOrder: Order = {
    ...order,
    state: 'paid',
    problem: findPaymentProblem(order, money),
    paid: money,
    payment: payment ?? order.payment,
    providerSubscription: subscription ?? order.providerSubscription,
    paidAt: now,
    closedAt: null,
    failure: null,
    nextCheckAt: computeNextCheck({ checks: 4 }, now),
  }
  const facts = {
    money: formatMoney(money),
    ...(payment === null ? {} : { payment }),
    ...(order.state === 'sent' || order.state === 'created' ? {} : { after: order.state }),
  }
  return { order: paidOrder, steps: [{ at: now, kind: 'paid', by, facts }] }
}

/** The answer about an order that is not paid. */
export function recordUnpaid(order: Order, facts: PaymentFacts, now: number, by: OrderActor): Transition {
  const checkedOrder: Order = {
    ...order,
    checks: order.checks + 1,
    checkedAt: now,
    failure: null,
    nextCheckAt: computeNextCheck(order, now),
  }
  if (facts.state === 'paid' && facts.money !== null)
    return recordPayment(checkedOrder, { ...facts, money: facts.money }, now, by)
  if (order.state === 'cancelled' || order.state === 'expired')
    return { order: { ...checkedOrder, nextCheckAt: findLateCheck(order, now) }, steps: [] }
  if (facts.state === 'closed')
    return recordClosed(checkedOrder, now >= order.expiresAt ? 'expired' : 'cancelled', now, by, facts.reason)
  return { order: checkedOrder, steps: [] }
}

/** Ends an order without money. Late money is still looked for, because a member may have paid at the last moment. */
export function recordClosed(
  order: Order,
  state: 'expired' | 'cancelled',
  now: number,
  by: OrderActor,
  reason?: string,
): Transition {
  const closedOrder: Order = {
    ...order,
    state,
    closedAt: now,
    failure: null,
    checks: order.checks + 1,
    nextCheckAt: findLateCheck({ ...order, closedAt: now }, now),
  }
  return { order: closedOrder, steps: [{ at: now, kind: state, by, facts: reason === undefined ? {} : { reason } }] }
}

/** Where the provider has the payment, it is asked some more times after the order's end. */
function findLateCheck(
  { reference, closedAt, checks }: Pick<Order, 'reference' | 'closedAt' | 'checks'>,
  now: number,
): number | null {
  if (reference === null) return null
  const next = computeNextCheck({ checks: Math.max(checks, 4) }, now)
  return next <= (closedAt ?? now) + lateMs ? next : null
}

/** The provider has money too for an order that the operator confirmed by hand. Nothing more is granted for it. */
export function recordPaidAgain(order: Order, facts: PaymentFacts, now: number, by: OrderActor): Transition {
  const money = facts.money === null ? {} : { money: formatMoney(facts.money) }
  return { order, steps: [{ at: now, kind: 'paid_again', by, facts: { ...money, payment: facts.payment ?? '' } }] }
}

/** What was granted. */
export function recordGrant(
  order: Order,
  granted: { readonly subscription: string | null; readonly pack: string | null },
  now: number,
  by: OrderActor,
): Transition {
  const facts: OrderStep['facts'] = granted.pack === null ? { subscription: granted.subscription ?? '' } : { pack: granted.pack }
  // Its renewals are asked for.
  const nextCheckAt = order.providerSubscription === null ? null : computeNextCheck({ checks: 4 }, now)
  return {
    order: { ...order, ...granted, state: 'granted', problem: null, grantedAt: now, nextCheckAt },
    steps: [{ at: now, kind: 'granted', by, facts }],
  }
}

/** Money is here and grants nothing; decided again later, because some of the reasons pass. */
export function recordProblem(order: Order, problem: OrderProblem, now: number): Order {
  return { ...order, problem, nextCheckAt: computeNextCheck({ checks: Math.max(4, order.checks) }, now) }
}

/** The answer about an order that is paid: refunds that were made at the provider, and disputes. */
export function recordAfterPayment(
  order: Order,
  facts: PaymentFacts,
  now: number,
  by: OrderActor,
): Transition & { readonly takesBack: boolean } {
  const checkedOrder: Order = { ...order, checks: order.checks + 1, checkedAt: now, failure: null }
  const total = order.paid?.amount ?? 0
  // What follows from it is repeated until it is done: the rest of a pack is taken, and the provider renews the plan no more.
  const back = { state: 'refunded', closedAt: now, nextCheckAt: now } as const
  if (facts.dispute === 'lost' && (order.state === 'disputed' || order.state === 'granted' || isRefundedInPart(order))) {
    // Where a part was refunded before, what was left of a pack for the rest is taken now.
    const refund = order.state === 'disputed' ? order.refund : null
    const money = formatMoney({
      amount: Math.max(0, total - order.refunded),
      currency: order.paid?.currency ?? order.due.currency,
    })
    const orderAfterLostDispute: Order = { ...checkedOrder, ...back, refund, refunded: total }
    return { order: orderAfterLostDispute, steps: [{ at: now, kind: 'dispute_lost', by, facts: { money } }], takesBack: true }
  }
  if (facts.dispute === 'open' && order.state === 'granted') {
    const disputedOrder: Order = { ...checkedOrder, state: 'disputed', nextCheckAt: computeNextCheck({ checks: 5 }, now) }
    return { order: disputedOrder, steps: [{ at: now, kind: 'disputed', by, facts: {} }], takesBack: false }
  }
  if (order.state === 'disputed' && (facts.dispute === 'won' || facts.dispute === 'none'))
    return {
      order: { ...checkedOrder, state: 'granted', refund: null, nextCheckAt: order.providerSubscription === null ? null : now },
      steps: [{ at: now, kind: 'dispute_won', by, facts: {} }],
      takesBack: false,
    }
  if (facts.refunded > order.refunded && order.state !== 'refunding') {
    const isWhole = facts.refunded >= total
    const refundedOrder: Order = isWhole
      ? { ...checkedOrder, ...back, refund: null, refunded: facts.refunded, problem: null }
      : { ...checkedOrder, refunded: facts.refunded }
    const money = formatMoney({ amount: facts.refunded - order.refunded, currency: order.paid?.currency ?? order.due.currency })
    return { order: refundedOrder, steps: [{ at: now, kind: 'refunded_at_provider', by, facts: { money } }], takesBack: isWhole }
  }
  const isFollowed = (order.state !== 'granted' && order.state !== 'refunded') || order.providerSubscription !== null
  const nextCheckAt = isFollowed ? computeNextCheck({ checks: 5 }, now) : null
  return { order: { ...checkedOrder, nextCheckAt }, steps: [], takesBack: false }
}

/** The emails that follow from steps of an order: its receipt once it was delivered, and each refund. */
export function listOrderNotices(order: Order, steps: readonly OrderStep[]): readonly PurchaseNotice[] {
  const kinds = new Set(steps.map(({ kind }) => kind))
  const about = { account: order.account, about: order.id }
  const isRefunded = kinds.has('refunded') || kinds.has('refunded_at_provider') || kinds.has('dispute_lost')
  return [
    ...(kinds.has('granted') ? [{ ...about, kind: 'receipt', subject: order.number } as const] : []),
    ...(isRefunded ? [{ ...about, kind: 'refunded', subject: String(order.refunded) } as const] : []),
  ]
}
