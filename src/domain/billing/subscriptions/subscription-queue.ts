/**
 * The order of an account's subscriptions: the highest plan runs, and the others wait. Of equal plans the older one comes first. A
 * subscription that a higher one interrupts keeps the rest of its span, except for one with a fixed end. A plan of groups comes after equal
 * ones, and gives nothing while the account has one that its provider renews. One begins at the moment at which
 * the one before it ended, however late that is noticed.
 */
import type { Calendar } from '../period.ts'
import type { Plan } from '../catalog/plan.ts'
import { formatSpan, parseSpan } from '../span.ts'
import { isRunning } from './subscription.ts'
import type { Entitlement, EntitlementChange, Subscription } from './subscription.ts'
import { comparePlans } from './terms.ts'

export interface QueueRules {
  readonly calendar: Pick<Calendar, 'addSpan'>
  readonly defaultPlan: string
  /** The plan of this id by the configuration. */
  getPlan(id: string): Plan
}

/** Subscriptions with the plan that was given without an end. */
export type Queue = Pick<Entitlement, 'basePlan' | 'subscriptions'>

/** One stretch of time with one plan. */
export interface PlanStretch {
  readonly subscription: Subscription
  readonly startsAt: number
  readonly endsAt: number
}

/**
 * Begins, interrupts and ends subscriptions as of `now`, and derives the plan in effect. Without `endsDue` none ends: only jobs with a trusted
 * clock may end what was paid for.
 */
export function arrangeSubscriptions(
  queue: Queue,
  now: number,
  rules: QueueRules,
  { endsDue }: { readonly endsDue: boolean },
): Omit<EntitlementChange, 'changed'> & { readonly subscriptions: readonly Subscription[] } {
  const { basePlan } = queue
  const subscriptions = advance(queue, now, rules, endsDue)
  const runningSubscription = subscriptions.find(isRunning)
  if (runningSubscription === undefined)
    return { plan: basePlan ?? rules.defaultPlan, planUntil: null, terms: null, basePlan: null, subscriptions }
  const { id: terms, plan } = runningSubscription.terms
  const planUntil = findEndOfPlan({ basePlan, subscriptions }, plan.id, now, rules) ?? runningSubscription.endsAt
  return { plan: plan.id, planUntil, terms, basePlan, subscriptions }
}

/** What will run when, if nothing else is paid or given. Ends where the plan without an end applies. */
export function projectStretches(queue: Queue, now: number, rules: QueueRules): readonly PlanStretch[] {
  const stretches: PlanStretch[] = []
  let subscriptions: readonly Subscription[] = dropIdleGroups(queue.subscriptions).map((each) => ({
    ...each,
    renewal: 'none',
    endsAt: each.state === 'past_due' ? getFinalEnd(each) : each.endsAt,
  }))
  let startsAt = now
  for (;;) {
    subscriptions = advance({ ...queue, subscriptions }, startsAt, rules, true)
    const runningSubscription = subscriptions.find(isRunning)
    // Each further round ends one subscription.
    if (runningSubscription === undefined || runningSubscription.endsAt === null) return stretches
    stretches.push({ subscription: runningSubscription, startsAt, endsAt: runningSubscription.endsAt })
    startsAt = runningSubscription.endsAt
  }
}

/** Whether a subscription to this plan could ever begin: a plan without an end that gives as much would apply for good. */
export function canBegin(plan: Plan, basePlan: string | null, rules: QueueRules): boolean {
  return comparePlans(plan, rules.getPlan(basePlan ?? rules.defaultPlan)) > 0
}

/** The end of the stretches of one plan that follow each other from now on. */
function findEndOfPlan(queue: Queue, plan: string, now: number, rules: QueueRules): number | null {
  const stretches = projectStretches(queue, now, rules)
  const other = stretches.findIndex(({ subscription }) => subscription.terms.plan.id !== plan)
  return stretches.at(other === -1 ? -1 : other - 1)?.endsAt ?? null
}

function advance({ basePlan, subscriptions }: Queue, now: number, rules: QueueRules, endsDue: boolean): readonly Subscription[] {
  let all = subscriptions
  for (;;) {
    const runningSubscription = all.find(isRunning)
    const end = runningSubscription === undefined ? null : getFinalEnd(runningSubscription)
    const isDue = endsDue && end !== null && end <= now
    const at = isDue ? end : now
    if (endsDue) all = all.map((each) => endIfDue(each, at))
    const next = chooseNext(all, basePlan === null ? null : rules.getPlan(basePlan))
    all = all.map((each) => {
      if (each === next) return isRunning(each) ? each : begin(each, at, rules)
      return isRunning(each) ? interrupt(each, at) : each
    })
    if (!isDue) return all
  }
}

function chooseNext(all: readonly Subscription[], basePlan: Plan | null): Subscription | undefined {
  const [highest] = dropIdleGroups(all)
    .filter(({ state }) => state !== 'ended')
    .toSorted(
      (one, other) =>
        comparePlans(other.terms.plan, one.terms.plan) ||
        Number(one.source === 'group') - Number(other.source === 'group') ||
        Number(isRunning(other)) - Number(isRunning(one)) ||
        one.createdAt - other.createdAt ||
        (one.id < other.id ? -1 : 1),
    )
  if (highest === undefined || basePlan === null || highest.source === 'given') return highest
  return comparePlans(highest.terms.plan, basePlan) > 0 ? highest : undefined
}

/**
 * Leaves out plans of groups where a provider charges for another one: an interruption would defer what is charged on, and begin the grace of
 * a failed payment anew.
 */
function dropIdleGroups(all: readonly Subscription[]): readonly Subscription[] {
  const isCharged = all.some(({ state, renewal }) => state !== 'ended' && renewal === 'provider')
  return isCharged ? all.filter(({ source }) => source !== 'group') : all
}

/**
 * How long a plan runs on after the end of what is paid, while the provider tries to charge its renewal. A provider charges about an hour
 * after that end, and repeats what fails for some days.
 */
export const renewalGraceMs = 7 * 86_400_000

/** When it ends if nothing else is paid; null while a span waits. */
export function getFinalEnd({ renewal, state, endsAt }: Pick<Subscription, 'renewal' | 'state' | 'endsAt'>): number | null {
  const hasGrace = renewal === 'provider' && (state === 'active' || state === 'past_due')
  return endsAt === null || !hasGrace ? endsAt : endsAt + renewalGraceMs
}

function endIfDue(subscription: Subscription, at: number): Subscription {
  const { state, endsAt } = subscription
  const end = getFinalEnd(subscription)
  if (state === 'ended' || end === null || endsAt === null || endsAt > at) return subscription
  if (end <= at) return { ...subscription, state: 'ended', endedAt: end }
  return state === 'active' ? { ...subscription, state: 'past_due' } : subscription
}

function begin(subscription: Subscription, at: number, { calendar }: QueueRules): Subscription {
  const span = subscription.span === null ? undefined : parseSpan(subscription.span)
  const endsAt = span === undefined ? subscription.endsAt : calendar.addSpan(at, span)
  return { ...subscription, state: 'active', startsAt: subscription.startsAt ?? at, endsAt }
}

/**
 * A clock that was set back does not make the rest longer than the span was. What its provider renews no more is not taken for a renewed
 * plan when it goes on.
 */
function interrupt(subscription: Subscription, at: number): Subscription {
  const { span, startsAt, endsAt, state, renewal } = subscription
  const waitingSubscription = {
    ...subscription,
    state: 'waiting' as const,
    ...(state === 'cancelled' ? endRenewal({ renewal }) : {}),
  }
  if (span === null || endsAt === null) return waitingSubscription
  const count = Math.max(1, endsAt - Math.max(at, startsAt ?? at))
  return { ...waitingSubscription, span: formatSpan({ count, unit: 'ms' }), endsAt: null }
}

/** Of a waiting subscription: from now on the member pays again by hand. */
export function endRenewal({ renewal }: Pick<Subscription, 'renewal'>): Pick<Subscription, 'renewal'> {
  return { renewal: renewal === 'provider' ? 'manual' : renewal }
}
