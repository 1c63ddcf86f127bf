/** Which subscription of an account runs, and which wait. */
import t from 'tap'
import { createCalendar } from '../../../../../src/domain/billing/period.ts'
import {
  arrangeSubscriptions,
  canBegin,
  projectStretches,
} from '../../../../../src/domain/billing/subscriptions/subscription-queue.ts'
import type { QueueRules } from '../../../../../src/domain/billing/subscriptions/subscription-queue.ts'
import { createSubscription, isRunning } from '../../../../../src/domain/billing/subscriptions/subscription.ts'
import type { Subscription } from '../../../../../src/domain/billing/subscriptions/subscription.ts'
import { createPlan } from '../../../../support/gateway/test-plans.ts'

const day = 86_400_000
const noon = Date.parse('2026-03-02T12:00:00Z')
const plans = { free: createPlan('free', 1), pro: createPlan('pro', 10), max: createPlan('max', 100) }
const rules: QueueRules = {
  calendar: createCalendar('UTC'),
  defaultPlan: 'free',
  getPlan: (id) => plans[id as keyof typeof plans] ?? plans.free,
}

let ids = 0
function createRedeemed(plan: 'pro' | 'max', span: string | null, change: Partial<Subscription> = {}): Subscription {
  const terms = { id: `${plan}@1`, version: 1, plan: plans[plan] }
  return createSubscription({ id: `sub_${++ids}`, account: 'acc_1', terms, source: 'code', span, createdAt: noon, ...change })
}

const arrange = (subscriptions: readonly Subscription[], now = noon, basePlan: string | null = null, endsDue = true) =>
  arrangeSubscriptions({ basePlan, subscriptions }, now, rules, { endsDue })
const describe = (subscriptions: readonly Subscription[]) =>
  subscriptions.map(({ state, span, startsAt, endsAt, endedAt }) => {
    const toDays = (at: number | null) => (at === null ? null : (at - noon) / day)
    return [state, span, toDays(startsAt), toDays(endsAt), toDays(endedAt)]
  })
/** With a new subscription, as a redemption adds it. */
const add = (subscriptions: readonly Subscription[], plan: 'pro' | 'max', span: string, now = noon) =>
  arrange([...subscriptions, createRedeemed(plan, span, { createdAt: now })], now, null, false)

t.test('a first subscription begins at once and ends at its end, not before', async (t) => {
  const first = add([], 'pro', '30d')
  t.match(first, { plan: 'pro', terms: 'pro@1', planUntil: noon + 30 * day, basePlan: null })
  t.same(describe(first.subscriptions), [['active', '30d', 0, 30, null]])
  t.match(arrange(first.subscriptions, noon + 30 * day - 1), { plan: 'pro' })
  const over = arrange(first.subscriptions, noon + 30 * day)
  t.match(over, { plan: 'free', terms: null, planUntil: null })
  t.same(describe(over.subscriptions), [['ended', '30d', 0, 30, 30]])
})

t.test('one of the same plan follows, and the end that members see is that of both', async (t) => {
  const both = add(add([], 'pro', '30d').subscriptions, 'pro', '10d', noon + 5 * day)
  t.same(describe(both.subscriptions), [
    ['active', '30d', 0, 30, null],
    ['waiting', '10d', null, null, null],
  ])
  t.equal(both.planUntil, noon + 40 * day)
  // Noticed two days late: it began when the first one ended.
  t.same(describe(arrange(both.subscriptions, noon + 32 * day).subscriptions), [
    ['ended', '30d', 0, 30, 30],
    ['active', '10d', 30, 40, null],
  ])
  // After a long stop both are over.
  const late = arrange(both.subscriptions, noon + 100 * day)
  t.same(describe(late.subscriptions), [
    ['ended', '30d', 0, 30, 30],
    ['ended', '10d', 30, 40, 40],
  ])
  t.equal(late.plan, 'free')
})

t.test('a higher plan begins at once, and the rest of the lower one follows it', async (t) => {
  const pro = add([], 'pro', '30d').subscriptions
  const max = add(pro, 'max', '7d', noon + 10 * day)
  t.match(max, { plan: 'max', planUntil: noon + 17 * day })
  t.same(describe(max.subscriptions), [
    ['waiting', `${20 * day}ms`, 0, null, null],
    ['active', '7d', 10, 17, null],
  ])
  const after = arrange(max.subscriptions, noon + 18 * day)
  t.match(after, { plan: 'pro', planUntil: noon + 37 * day })
  t.same(describe(after.subscriptions)[0], ['active', `${20 * day}ms`, 0, 37, null])
})

t.test('a lower plan waits until the higher one ends, however often that is extended', async (t) => {
  let queue = add([], 'max', '30d').subscriptions
  queue = add(queue, 'pro', '30d', noon + day).subscriptions
  const extended = add(queue, 'max', '30d', noon + 2 * day)
  t.equal(extended.planUntil, noon + 60 * day)
  t.same(
    projectStretches({ basePlan: null, subscriptions: extended.subscriptions }, noon + 2 * day, rules).map(
      ({ subscription, startsAt, endsAt }) => [subscription.terms.plan.id, (startsAt - noon) / day, (endsAt - noon) / day],
    ),
    [
      ['max', 2, 30],
      ['max', 30, 60],
      ['pro', 60, 90],
    ],
  )
  t.same(describe(arrange(extended.subscriptions, noon + 65 * day).subscriptions), [
    ['ended', '30d', 0, 30, 30],
    ['active', '30d', 60, 90, null],
    ['ended', '30d', 30, 60, 60],
  ])
})

t.test('an end that the operator fixed stays, also while a higher plan runs', async (t) => {
  const given = createRedeemed('pro', null, { source: 'given', endsAt: noon + 20 * day })
  const queue = add(arrange([given]).subscriptions, 'max', '10d', noon + day)
  t.same(describe(queue.subscriptions)[0], ['waiting', null, 0, 20, null])
  t.same(describe(arrange(queue.subscriptions, noon + 11 * day).subscriptions)[0], ['active', null, 0, 20, null])
  const longer = add(arrange([given]).subscriptions, 'max', '30d', noon + day)
  t.same(describe(arrange(longer.subscriptions, noon + 25 * day).subscriptions)[0], ['ended', null, 0, 20, 20])
})

t.test('a plan without an end comes back after a higher one, and stops a subscription that is not higher', async (t) => {
  const higher = arrange([createRedeemed('max', '10d')], noon, 'pro')
  t.match(higher, { plan: 'max', basePlan: 'pro' })
  t.match(arrange(higher.subscriptions, noon + 10 * day, higher.basePlan), { plan: 'pro', planUntil: null, basePlan: null })
  const lower = arrange([createRedeemed('pro', '10d')], noon, 'max')
  t.match(lower, { plan: 'max', planUntil: null, terms: null })
  t.equal(lower.subscriptions.some(isRunning), false)
  t.match(arrange(lower.subscriptions, noon + 50 * day, null), { plan: 'pro', planUntil: noon + 60 * day })
  for (const [plan, base, expected] of [
    ['pro', null, true],
    ['free', null, false],
    ['pro', 'pro', false],
    ['pro', 'max', false],
    ['max', 'pro', true],
  ] as const)
    t.equal(canBegin(plans[plan], base, rules), expected, `${plan} over ${base}`)
})

t.test('the operator gives a lower plan than the default, and it applies until its end', async (t) => {
  const generous: QueueRules = { ...rules, defaultPlan: 'max' }
  const given = createRedeemed('pro', null, { source: 'given', endsAt: noon + day })
  const queue = { basePlan: null, subscriptions: [given] }
  const now = arrangeSubscriptions(queue, noon, generous, { endsDue: true })
  t.equal(now.plan, 'pro')
  const later = { basePlan: null, subscriptions: now.subscriptions }
  t.equal(arrangeSubscriptions(later, noon + day, generous, { endsDue: true }).plan, 'max')
})

t.test('a step of the clock neither lengthens a rest nor ends what was paid for', async (t) => {
  const pro = add([], 'pro', '30d').subscriptions
  const back = add(pro, 'max', '7d', noon - 365 * day)
  t.equal(back.subscriptions[0]?.span, `${30 * day}ms`, 'the clock was set back a year')
  const forward = add(pro, 'pro', '7d', noon + 365 * day)
  t.match(describe(forward.subscriptions)[0], ['active', '30d', 0, 30, null], 'only a job with a trusted clock ends it')
  const interrupted = add(pro, 'max', '7d', noon + 365 * day)
  t.equal(interrupted.subscriptions[0]?.span, '1ms')
})

t.test('at most one runs, and no time is lost or won, in random orders of events', async (t) => {
  let seed = 7
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((seed / 2_147_483_648) * below)
  }
  for (let round = 0; round < 300; round += 1) {
    let subscriptions: readonly Subscription[] = []
    let bought = 0
    let now = noon
    for (let step = 0; step < 12; step += 1) {
      now += random(9) * day
      if (random(2) === 0) {
        subscriptions = arrange(subscriptions, now).subscriptions
        const days = 1 + random(20)
        bought += days * day
        subscriptions = add(subscriptions, random(2) === 0 ? 'pro' : 'max', `${days}d`, now).subscriptions
      } else subscriptions = arrange(subscriptions, now).subscriptions
      const running = subscriptions.filter(isRunning)
      if (running.length > 1) t.fail(`${running.length} run`)
      const waits = subscriptions.filter(({ state }) => state === 'waiting')
      if (running.length === 0 && waits.length > 0) t.fail('all wait')
      if (running.some(({ terms }) => terms.plan.id === 'pro') && waits.some(({ terms }) => terms.plan.id === 'max'))
        t.fail('a higher plan waits')
    }
    // What has run and what will run add up to what was bought.
    const stretches = projectStretches({ basePlan: null, subscriptions }, now, rules)
    const rest = stretches.reduce((sum, { startsAt, endsAt }) => sum + endsAt - startsAt, 0)
    const used = bought - rest
    if (used < 0 || used > now - noon) t.fail(`of ${bought / day} days ${used / day} are used after ${(now - noon) / day}`)
  }
})

t.test('one that a provider renews runs on for a grace after its end, and then ends', async (t) => {
  const grace = 7
  const first = add([], 'pro', '30d')
  const renewing = first.subscriptions.map((each): Subscription => ({ ...each, renewal: 'provider' }))
  t.match(arrange(renewing, noon + 30 * day - 1), { plan: 'pro', subscriptions: [{ state: 'active' }] })
  const late = arrange(renewing, noon + 30 * day)
  t.match(late, { plan: 'pro', subscriptions: [{ state: 'past_due', endsAt: noon + 30 * day }] })
  t.equal(late.planUntil, noon + (30 + grace) * day)
  t.match(arrange(late.subscriptions, noon + (30 + grace) * day - 1), { plan: 'pro' })
  const over = arrange(late.subscriptions, noon + (30 + grace) * day)
  t.match(over, { plan: 'free', subscriptions: [{ state: 'ended', endedAt: noon + (30 + grace) * day }] })
  t.match(
    arrange(renewing, noon + 400 * day),
    { plan: 'free', subscriptions: [{ state: 'ended' }] },
    'however late that is noticed',
  )

  const cancelled = renewing.map((each): Subscription => ({ ...each, state: 'cancelled' }))
  t.match(arrange(cancelled, noon + 30 * day), { plan: 'free', subscriptions: [{ state: 'ended' }] }, 'none after a cancellation')
  const queue = { basePlan: null, subscriptions: [...renewing, createRedeemed('pro', '10d')] }
  t.same(
    projectStretches(queue, noon, rules).map(({ startsAt, endsAt }) => [(startsAt - noon) / day, (endsAt - noon) / day]),
    [
      [0, 30],
      [30, 40],
    ],
    'what is planned counts no grace',
  )
})
