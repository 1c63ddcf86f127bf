/** What an order gives once its money was seen, and what a refund takes. Decided in the transaction that writes the order. */
import type { BoostClaim } from '../../billing/boost.ts'
import { noEndAt, toPurchasedPackId } from '../../billing/orders/order.ts'
import type { Order, OrderProblem } from '../../billing/orders/order.ts'
import { lateMs } from '../../billing/orders/order-rules.ts'
import type { Calendar } from '../../billing/period.ts'
import { createPurchased, extendEnd, toSpan } from '../../billing/orders/purchase-quote.ts'
import { canBegin, endRenewal } from '../../billing/subscriptions/subscription-queue.ts'
import type { Entitlement, EntitlementChange, Subscription } from '../../billing/subscriptions/subscription.ts'
import { isRunning } from '../../billing/subscriptions/subscription.ts'
import { includesPlan } from '../../billing/subscriptions/terms.ts'
import type { SubscriptionService } from '../subscription-service.ts'

const dayMs = 86_400_000

export interface GrantContext {
  readonly subscriptions: SubscriptionService
  readonly calendar: Pick<Calendar, 'addSpan'>
  readonly now: number
  /** The id of a new subscription. */
  readonly newSubscription: string
  /** `order.formerSubscription` as it was read before the transaction, with what its newest order says. */
  readonly former: {
    readonly subscription: Subscription
    readonly paidBy: Order | null
  } | null
  /** What ends where the money goes back. */
  readonly ending: readonly string[]
}

export type Grant =
  | { readonly kind: 'plan'; readonly subscription: string; readonly entitlement: EntitlementChange }
  | { readonly kind: 'pack'; readonly claim: BoostClaim }
  | { readonly kind: 'problem'; readonly problem: OrderProblem }

export function decideGrant(order: Order, entitlement: Entitlement | undefined, context: GrantContext): Grant {
  if (entitlement === undefined || entitlement.isDeleted) return { kind: 'problem', problem: 'account_deleted' }
  if (order.item.kind === 'pack') return { kind: 'pack', claim: toClaim(order, order.item, context.now) }
  const { subscriptions, now, newSubscription } = context
  const queue = subscriptions.toQueue(entitlement)
  const { terms, interval } = order.item
  const formerSubscription = queue.subscriptions.find(({ id }) => id === order.formerSubscription)
  const arrange = (changed: readonly Subscription[], subscription: string): Grant => ({
    kind: 'plan',
    subscription,
    entitlement: subscriptions.arrange(entitlement, { ...queue, subscriptions: changed }, now, { endsDue: false }),
  })

  const isContinued =
    order.providerSubscription !== null && order.providerSubscription === context.former?.paidBy?.providerSubscription
  if (formerSubscription !== undefined && isContinued && isRunning(formerSubscription) && formerSubscription.endsAt !== null) {
    const endsAt = computeContinuedEnd(order, { ...formerSubscription, endsAt: formerSubscription.endsAt }, context)
    // The operator may have moved the subscription to better terms since the renewal was seen, which stay.
    const isMovedSince =
      order.event === 'renewal' &&
      formerSubscription.nextTerms !== terms.id &&
      !includesPlan(terms.plan, formerSubscription.terms.plan)
    const continuedSubscription: Subscription = {
      ...formerSubscription,
      terms: isMovedSince ? formerSubscription.terms : terms,
      // A move that was not announced in time waits for the renewal after this one.
      nextTerms:
        terms.id === formerSubscription.terms.id && formerSubscription.nextTerms !== terms.id
          ? formerSubscription.nextTerms
          : null,
      order: order.id,
      renewal: 'provider',
      state: 'active',
      endsAt,
    }
    return arrange(
      queue.subscriptions.map((each) => (each === formerSubscription ? continuedSubscription : each)),
      formerSubscription.id,
    )
  }

  if (!canBegin(terms.plan, queue.basePlan, subscriptions.rules)) return { kind: 'problem', problem: 'never_begins' }
  if (order.credit > 0 && !isCreditLeft(order, formerSubscription, context)) return { kind: 'problem', problem: 'credit_used' }
  // Two orders may have been paid at the same time: one of them renews, and the other one's renewal is cancelled at the provider.
  const isRenewed = queue.subscriptions.some(
    (each) => each !== formerSubscription && each.renewal === 'provider' && each.state !== 'cancelled',
  )
  const renewal = order.renews && order.providerSubscription !== null && !isRenewed ? ('provider' as const) : ('manual' as const)
  const purchasedSubscription = createPurchased({
    id: newSubscription,
    account: order.account,
    terms,
    interval,
    order: order.id,
    renewal,
    now,
  })
  const otherSubscriptions = queue.subscriptions.map((each): Subscription => {
    if (each !== formerSubscription) return each
    if (order.event === 'upgrade') return { ...each, state: 'ended', endedAt: now }
    // Interrupted: the provider renews the new one from now on.
    return isContinued ? { ...each, ...endRenewal(each) } : each
  })
  return arrange([...otherSubscriptions, purchasedSubscription], newSubscription)
}

/** A renewal adds an interval; a change of the interval begins a new one now; any other change keeps the end. */
function computeContinuedEnd(
  { event, item }: Order,
  former: Subscription & { readonly endsAt: number },
  { calendar, now, former: stored }: GrantContext,
): number {
  if (item.kind !== 'plan') return former.endsAt
  if (event === 'renewal') return extendEnd(former, item.interval, calendar)
  const before = stored?.paidBy?.item.kind === 'plan' ? stored.paidBy.item.interval : 'month'
  return before === item.interval ? former.endsAt : calendar.addSpan(now, toSpan(item.interval))
}

/**
 * Whether the unused days that were taken off the price are still worth it: no other order has used them, what was paid for them has not gone
 * back and is not disputed, and the money came in the time for which the price was given.
 */
function isCreditLeft(order: Order, former: Subscription | undefined, { former: stored, now }: GrantContext): boolean {
  if (former === undefined && !hasExpired(stored?.subscription)) return false
  const paidBy = stored?.paidBy ?? null
  if (paidBy?.state !== 'granted' || order.credit > paidBy.price.amount - paidBy.refunded) return false
  return (order.paidAt ?? now) <= order.expiresAt + lateMs
}

/** At its own end, so that no other order has used its unused days. */
function hasExpired(subscription: Subscription | undefined): boolean {
  return subscription?.state === 'ended' && subscription.endedAt !== null && subscription.endedAt === subscription.endsAt
}

function toClaim(order: Order, item: Extract<Order['item'], { kind: 'pack' }>, at: number): BoostClaim {
  const { pool, credits, days } = item
  const expiresAt = days === null ? noEndAt : at + days * dayMs
  return { id: toPurchasedPackId(order.id), account: order.account, kind: 'grant', pool, credits, at, expiresAt }
}

/** Ends what an order gave; undefined where nothing is to be ended. */
export function decideTakeBack(
  entitlement: Entitlement | undefined,
  { subscriptions, now, ending }: Pick<GrantContext, 'subscriptions' | 'now' | 'ending'>,
): EntitlementChange | undefined {
  if (entitlement === undefined || entitlement.isDeleted) return undefined
  const queue = subscriptions.toQueue(entitlement)
  if (!queue.subscriptions.some(({ id }) => ending.includes(id))) return undefined
  const changedSubscriptions = queue.subscriptions.map((each): Subscription =>
    ending.includes(each.id) ? { ...each, state: 'ended', endedAt: now } : each,
  )
  return subscriptions.arrange(entitlement, { ...queue, subscriptions: changedSubscriptions }, now, { endsDue: false })
}
