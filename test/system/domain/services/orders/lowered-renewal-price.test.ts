/** A renewal after the operator has moved a subscription at once to terms that cost less. */
import t from 'tap'
import { createPlan } from '../../../../support/gateway/test-plans.ts'
import { dayMs, hourMs, openOrderShop } from '../../../../support/payments/order-shop.ts'

t.test('grants a renewal for which the provider has taken the lower price of the present terms', async (t) => {
  const { account, subscribe, orders, provider, store, world, time, passTime, verify } = await openOrderShop(t)
  const pro = await subscribe('pro/month')
  const from = pro.item.kind === 'plan' ? pro.item.terms : null
  if (from === null) throw new Error('it is no plan')
  const prices = [{ amount: 20, currency: 'EUR', interval: 'month' as const, multiplier: null }]
  const to = await store.subscriptions.ensureTerms(createPlan('pro', 10, { prices }), time.now)
  await world.subscriptions.move({ from, to, at: 'now', isDryRun: false, reason: null })
  await passTime(31 * dayMs + hourMs)
  const reference = pro.providerSubscription ?? ''
  provider.renew(reference, time.now)
  t.equal(provider.getSubscription(reference).invoices.at(-1)?.money.amount, 2_000, 'as it was told')
  await orders.check(pro.id, 'sweep')
  t.match(await store.orders.list({ account: account.id, limit: 1 }), [
    { event: 'renewal', state: 'granted', due: { amount: 2_000 } },
  ])
  t.match(await store.subscriptions.list(account.id), [{ terms: to, state: 'active' }])
  t.same(await verify(), [])
})
