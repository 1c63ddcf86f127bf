/** What the purchase of a plan does to an account and costs, by the table of rules in docs/selling.md. */
import type { Money } from '../money.ts'
import type { Order, PurchaseEvent } from './order.ts'
import type { Interval } from './payment-provider.ts'
import type { Calendar } from '../period.ts'
import type { Span } from '../span.ts'
import { formatSpan } from '../span.ts'
import { canBegin, projectStretches } from '../subscriptions/subscription-queue.ts'
import type { Queue, QueueRules } from '../subscriptions/subscription-queue.ts'
import type { Subscription } from '../subscriptions/subscription.ts'
import { createSubscription, isRunning } from '../subscriptions/subscription.ts'
import type { PlanTerms } from '../subscriptions/terms.ts'
import { comparePlans } from '../subscriptions/terms.ts'

const dayMs = 86_400_000

/** What the member wants to buy, and what was paid for the plan that runs. */
export interface PlanPurchase {
  readonly terms: PlanTerms
  readonly interval: Interval
  readonly price: Money
  readonly queue: Queue
  /** The newest order of the running subscription; null where none paid for it. */
  readonly runningOrder: Order | null
  readonly now: number
}

export interface PlanQuote {
  readonly event: Exclude<PurchaseEvent, 'pack'>
  readonly credit: number
  readonly creditedDays: number
  /** The subscription that it ends. */
  readonly formerSubscription: string | null
  readonly startsAt: number
  readonly endsAt: number
  /** It begins when another one ends. */
  readonly isWaiting: boolean
  /** The plan that it replaces, or interrupts so that its rest follows. */
  readonly interrupts: string | null
}

export function toSpan(interval: Interval): Span {
  return { count: 1, unit: interval === 'month' ? 'mo' : 'y' }
}

/** Null: the plan would never begin, because a plan without an end that is as high applies. */
export function quotePlan(
  { terms, interval, price, queue, runningOrder, now }: PlanPurchase,
  rules: QueueRules,
): PlanQuote | null {
  if (!canBegin(terms.plan, queue.basePlan, rules)) return null
  // What groups give was not bought: a purchase neither renews nor interrupts it.
  const runningSubscription = queue.subscriptions.find((each) => isRunning(each) && each.source !== 'group')
  const event = chooseEvent(terms, interval, runningSubscription, runningOrder)
  const unusedCredit =
    event === 'upgrade' &&
    runningSubscription !== undefined &&
    runningOrder?.state === 'granted' &&
    runningOrder.price.currency === price.currency
      ? computeCredit(runningSubscription, runningOrder, now, rules.calendar)
      : noCredit
  const formerSubscription = unusedCredit.credit > 0 ? runningSubscription : undefined
  const id = 'sub_new'
  const newSubscription = createPurchased({ id, account: '', terms, interval, order: '', renewal: 'manual', now })
  const otherSubscriptions = queue.subscriptions.filter((each) => each !== formerSubscription)
  const stretches = projectStretches({ ...queue, subscriptions: [...otherSubscriptions, newSubscription] }, now, rules)
  const first = stretches.find(({ subscription }) => subscription.id === id)
  const last = stretches.findLast(({ subscription }) => subscription.id === id)
  if (first === undefined || last === undefined) return null
  const isWaiting = first.startsAt > now
  return {
    event,
    ...unusedCredit,
    formerSubscription: formerSubscription?.id ?? null,
    startsAt: first.startsAt,
    endsAt: last.endsAt,
    isWaiting,
    interrupts: isWaiting || runningSubscription === undefined ? null : runningSubscription.terms.plan.name,
  }
}

function chooseEvent(
  terms: PlanTerms,
  interval: Interval,
  running: Subscription | undefined,
  runningOrder: Order | null,
): PlanQuote['event'] {
  if (running === undefined) return 'first'
  if (running.terms.plan.id === terms.plan.id) {
    const isOther = runningOrder?.item.kind === 'plan' && runningOrder.item.interval !== interval
    return isOther ? 'interval' : 'renewal'
  }
  return comparePlans(terms.plan, running.terms.plan) > 0 ? 'upgrade' : 'downgrade'
}

const noCredit = { credit: 0, creditedDays: 0 }

/**
 * Whole unused days × price ÷ days of the span, rounded down. A price that an upgrade had reduced counts in full: the rest was paid before.
 * What was refunded since does not count.
 */
export function computeCredit(
  { endsAt }: Pick<Subscription, 'endsAt'>,
  { item, price, refunded, paidAt, createdAt }: Pick<Order, 'item' | 'price' | 'refunded' | 'paidAt' | 'createdAt'>,
  now: number,
  calendar: Pick<Calendar, 'addSpan'>,
): { readonly credit: number; readonly creditedDays: number } {
  if (endsAt === null || item.kind !== 'plan') return noCredit
  const boughtAt = paidAt ?? createdAt
  const days = Math.round((calendar.addSpan(boughtAt, toSpan(item.interval)) - boughtAt) / dayMs)
  const creditedDays = Math.min(days, Math.max(0, Math.floor((endsAt - now) / dayMs)))
  // Both factors are whole, and their product is exact: a price is below 10¹², a span has at most 366 days.
  return { credit: Math.floor((Math.max(0, price.amount - refunded) * creditedDays) / days), creditedDays }
}

/** Bought; it waits until it is arranged. */
export function createPurchased({
  interval,
  now,
  ...own
}: Pick<Subscription, 'id' | 'account' | 'terms' | 'renewal' | 'order'> & {
  readonly interval: Interval
  readonly now: number
}): Subscription {
  return createSubscription({ ...own, source: 'order', span: formatSpan(toSpan(interval)), createdAt: now })
}

/**
 * The end after one more interval, counted from the first start, so that a month of 31 January ends on 28 February and the next on 31 March.
 * A subscription that was interrupted counts from its last end.
 */
export function extendEnd(
  { startsAt, endsAt }: { readonly startsAt: number | null; readonly endsAt: number },
  interval: Interval,
  calendar: Pick<Calendar, 'addSpan'>,
): number {
  const { unit } = toSpan(interval)
  const fromEnd = calendar.addSpan(endsAt, toSpan(interval))
  if (startsAt === null || startsAt >= endsAt) return fromEnd
  // At most a hundred years.
  for (let count = 1; count <= 1_200; count++) {
    const end = calendar.addSpan(startsAt, { count, unit })
    if (end <= endsAt + dayMs / 2) continue
    return Math.abs(end - fromEnd) <= 4 * dayMs ? end : fromEnd
  }
  return fromEnd
}
