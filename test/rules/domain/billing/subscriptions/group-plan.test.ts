/** The plan that groups of a provider give, beside what a member bought, redeemed or was given. */
import t from 'tap'
import { applyGroupTerms, groupPlanMs } from '../../../../../src/domain/billing/subscriptions/group-plan.ts'
import { createCalendar } from '../../../../../src/domain/billing/period.ts'
import { quotePlan } from '../../../../../src/domain/billing/orders/purchase-quote.ts'
import { arrangeSubscriptions } from '../../../../../src/domain/billing/subscriptions/subscription-queue.ts'
import type { QueueRules } from '../../../../../src/domain/billing/subscriptions/subscription-queue.ts'
import { createSubscription } from '../../../../../src/domain/billing/subscriptions/subscription.ts'
import type { Subscription } from '../../../../../src/domain/billing/subscriptions/subscription.ts'
import { createPlan } from '../../../../support/gateway/test-plans.ts'

const [hour, day] = [3_600_000, 86_400_000]
const noon = Date.parse('2026-03-02T12:00:00Z')
const plans = { free: createPlan('free', 1), pro: createPlan('pro', 10), max: createPlan('max', 100) }
type PlanName = keyof typeof plans
const rules: QueueRules = {
  calendar: createCalendar('UTC'),
  defaultPlan: 'free',
  getPlan: (id) => plans[id as PlanName] ?? plans.free,
}
const toTerms = (plan: PlanName) => ({ id: `${plan}@1`, version: 1, plan: plans[plan] })

let ids = 0
function createBought(plan: PlanName, change: Partial<Subscription> = {}): Subscription {
  return createSubscription({
    id: `sub_${(ids += 1)}`,
    account: 'acc_1',
    terms: toTerms(plan),
    source: 'code',
    state: 'active',
    span: '30d',
    startsAt: noon - day,
    endsAt: noon + 29 * day,
    createdAt: noon - day,
    ...change,
  })
}

function signIn(subscriptions: readonly Subscription[], plan: PlanName | null, now = noon, provider = 'acme') {
  const terms = plan === null ? null : toTerms(plan)
  return applyGroupTerms(subscriptions, { id: `sub_${(ids += 1)}`, account: 'acc_1', provider, terms, now })
}

const arrange = (subscriptions: readonly Subscription[], now = noon, basePlan: string | null = null) =>
  arrangeSubscriptions({ basePlan, subscriptions }, now, rules, { endsDue: true })

t.test('a sign-in gives the plan for twelve hours, and the next one moves its end', async (t) => {
  const first = arrange(signIn([], 'pro'))
  t.match(first, { plan: 'pro', planUntil: noon + groupPlanMs })
  const again = arrange(signIn(first.subscriptions, 'pro', noon + 11 * hour), noon + 11 * hour)
  t.match(again, { plan: 'pro', planUntil: noon + 23 * hour })
  t.equal(again.subscriptions.length, 1)
  t.match(arrange(again.subscriptions, noon + 23 * hour), { plan: 'free', terms: null, subscriptions: [{ state: 'ended' }] })
})

t.test('a group that is gone ends it at once, and another group replaces it', async (t) => {
  const { subscriptions } = arrange(signIn([], 'pro'))
  const gone = arrange(signIn(subscriptions, null, noon + hour), noon + hour)
  t.match(gone, { plan: 'free', subscriptions: [{ state: 'ended', endedAt: noon + hour }] })
  const higher = arrange(signIn(subscriptions, 'max', noon + hour), noon + hour)
  t.match(higher, { plan: 'max', planUntil: noon + 13 * hour, subscriptions: [{ state: 'ended' }, { state: 'active' }] })
  t.equal(signIn([], null).length, 0)
})

t.test('groups of one provider take nothing that those of another give', async (t) => {
  const { subscriptions } = arrange(signIn([], 'pro'))
  t.equal(signIn(subscriptions, null, noon + hour, 'other'), subscriptions)
  const both = arrange(signIn(subscriptions, 'max', noon + hour, 'other'), noon + hour)
  t.match(both, {
    plan: 'max',
    subscriptions: [
      { state: 'waiting', provider: 'acme' },
      { state: 'active', provider: 'other' },
    ],
  })
})

t.test('it gives nothing beside a plan that is as high, or that its provider renews', async (t) => {
  for (const [what, bought, group] of [
    ['an equal plan', createBought('pro'), 'pro'],
    ['a higher plan', createBought('max'), 'pro'],
    ['a plan given until a day', createBought('max', { source: 'given', span: null }), 'pro'],
    ['a renewed plan', createBought('pro', { source: 'order', renewal: 'provider' }), 'max'],
    [
      'a failed payment',
      createBought('pro', { source: 'order', renewal: 'provider', state: 'past_due', endsAt: noon - hour }),
      'max',
    ],
    ['a cancelled renewal', createBought('pro', { source: 'order', renewal: 'provider', state: 'cancelled' }), 'max'],
  ] as const) {
    const alone = arrange([bought])
    const { subscriptions, ...effect } = arrange(signIn([bought], group))
    t.equal(subscriptions[0], bought, `${what} stays as it is`)
    t.match(subscriptions, [{}, { state: 'waiting' }], what)
    t.same({ ...effect, subscriptions: [bought] }, alone, what)
    const left = signIn(subscriptions, null, noon + hour)
    t.equal(left[0], bought, what)
  }
  t.match(arrange(signIn([], 'pro'), noon, 'max'), { plan: 'max', planUntil: null, basePlan: null }, 'given without an end')
})

t.test('a lower plan goes on with the whole rest of its span', async (t) => {
  const bought = createBought('pro')
  const { subscriptions, plan } = arrange(signIn([bought], 'max'))
  t.equal(plan, 'max')
  const over = arrange(subscriptions, noon + groupPlanMs)
  t.match(over, { plan: 'pro', planUntil: noon + 29 * day + groupPlanMs })
})

t.test('what is bought of the same plan begins at once, and is no renewal of what groups give', async (t) => {
  const { subscriptions } = arrange(signIn([], 'pro'))
  const purchase = { terms: toTerms('pro'), interval: 'month', price: { amount: 900, currency: 'USD' } } as const
  const quote = quotePlan({ ...purchase, queue: { basePlan: null, subscriptions }, runningOrder: null, now: noon }, rules)
  t.match(quote, { event: 'first', credit: 0, startsAt: noon, isWaiting: false, interrupts: null })
})
