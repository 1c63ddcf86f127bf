/** Terms of plans: what is stored of a plan, and which of two plans is higher. */
import t from 'tap'
import type { Plan } from '../../../../../src/domain/billing/catalog/plan.ts'
import {
  comparePlans,
  includesPlan,
  resolvePlan,
  restorePlan,
  serializePlan,
} from '../../../../../src/domain/billing/subscriptions/terms.ts'
import { createPlan } from '../../../../support/gateway/test-plans.ts'

t.test('a plan is the same after it was stored', async (t) => {
  const plan = createPlan('pro', 100, {
    prices: [{ amount: 9, currency: 'EUR', interval: 'year', multiplier: 5 }],
    models: ['svc', 'auto'],
  })
  t.same(restorePlan('pro', JSON.parse(serializePlan(plan))), { ...plan, models: ['auto', 'svc'] })
  t.same(restorePlan('all', JSON.parse(serializePlan(createPlan('all', 5)))), createPlan('all', 5))
})

t.test('equal plans have equal texts, and every change another', async (t) => {
  const plan = createPlan('pro', 100, { models: ['a', 'b'] })
  t.equal(serializePlan({ ...plan, models: ['b', 'a'] }), serializePlan(plan))
  t.equal(serializePlan({ ...plan, pools: { premium: plan.pools.premium, fast: plan.pools.fast } }), serializePlan(plan))
  const changes: readonly Partial<Plan>[] = [
    { name: 'Other' },
    { rpm: 1 },
    { concurrency: 1 },
    { models: 'all' },
    { models: ['a'] },
    { prices: [] },
    { pools: { ...plan.pools, fast: { ...plan.pools.fast, week: 1 } } },
    { pools: { ...plan.pools, premium: { ...plan.pools.premium, day: 1 } } },
  ]
  for (const change of changes) t.not(serializePlan({ ...plan, ...change }), serializePlan(plan), JSON.stringify(change))
})

t.test('the higher plan has more credits, then more products, then more speed', async (t) => {
  const plan = createPlan('a', 100, { models: ['x'] })
  t.equal(comparePlans(plan, { ...plan, id: 'b', name: 'b' }), 0)
  for (const higher of [
    createPlan('b', 101, { models: [], rpm: 1 }),
    { ...plan, models: 'all' as const },
    { ...plan, models: ['x', 'y'] },
    { ...plan, rpm: plan.rpm + 1 },
    { ...plan, concurrency: plan.concurrency + 1 },
    { ...plan, pools: { ...plan.pools, premium: { ...plan.pools.premium, day: plan.pools.premium.day + 1 } } },
  ]) {
    t.equal(comparePlans(higher, plan), 1)
    t.equal(comparePlans(plan, higher), -1)
    t.equal(includesPlan(plan, higher), false)
  }
  t.equal(comparePlans({ ...plan, models: 'all' }, { ...plan, models: 'all' }), 0)
})

t.test('an account is served by its terms, and otherwise by the configuration', async (t) => {
  const configured = createPlan('pro', 5)
  const plans = { plans: { free: createPlan('free', 1), pro: configured }, defaultPlan: 'free' }
  const terms = { id: 'pro@1', version: 1, plan: createPlan('pro', 100) }
  t.equal(resolvePlan(plans, { plan: 'pro', terms }), terms.plan)
  t.equal(resolvePlan(plans, { plan: 'pro', terms: null }), configured)
  t.equal(resolvePlan({ plans: { free: plans.plans.free }, defaultPlan: 'free' }, { plan: 'pro', terms }), terms.plan)
  t.equal(resolvePlan(plans, { plan: 'gone', terms: null }).id, 'free')
})
