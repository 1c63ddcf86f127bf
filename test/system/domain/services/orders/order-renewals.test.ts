/** Renewals that a provider charges while a higher plan runs, a payment is disputed, or money has gone back. */
import t from 'tap'
import { createPlan } from '../../../../support/gateway/test-plans.ts'
import { dayMs, hourMs, openOrderShop } from '../../../../support/payments/order-shop.ts'

t.test('a cancelled plan that a higher one interrupts is renewed by its provider no more', async (t) => {
  const { orders, account, subscribe, provider, listPlans, passTime, verify } = await openOrderShop(t)
  await subscribe('pro/month')
  await orders.cancelRenewal(account.id)
  // In another currency nothing is taken off, so the rest of the lower plan follows.
  const max = await subscribe('max/month', { currency: 'USD' })
  t.same(await listPlans(), ['pro waiting manual', 'max active provider'])
  t.equal(await orders.cancelRenewal(account.id), 'cancelled')
  t.equal(provider.getSubscription(max.providerSubscription ?? '').state, 'cancelled', 'the one that runs')
  await passTime(32 * dayMs)
  t.same(await listPlans(), ['pro active manual'])
  await passTime(30 * dayMs)
  t.same(await listPlans(), [], 'without a grace for a payment that is not tried')
  t.same(await verify(), [])
})

t.test('the renewal of a plan that waits behind a code can be cancelled', async (t) => {
  const { orders, account, subscribe, provider, listPlans, store, world, plans, time, passTime } = await openOrderShop(t)
  const pro = await subscribe('pro/month')
  await world.subscriptions.give(account.id, plans.max, time.now + 60 * dayMs)
  t.same(await listPlans(), ['pro waiting provider', 'max active none'])
  t.equal(await orders.cancelRenewal(account.id), 'cancelled')
  t.equal(provider.getSubscription(pro.providerSubscription ?? '').state, 'cancelled')
  t.same(await listPlans(), ['pro waiting manual', 'max active none'])
  t.equal(await orders.cancelRenewal(account.id), 'no_renewal')
  await passTime(60 * dayMs + hourMs)
  t.same(await listPlans(), ['pro active manual'])
  t.equal((await store.orders.list({ limit: 10 })).length, 1)
})

t.test('of a plan that is renewed while it waits, one subscription is renewed further', async (t) => {
  const { account, subscribe, provider, listPlans, world, plans, time, passTime, orders, verify } = await openOrderShop(t)
  const pro = await subscribe('pro/month')
  await world.subscriptions.give(account.id, plans.max, time.now + 40 * dayMs)
  await passTime(31 * dayMs + hourMs)
  provider.renew(pro.providerSubscription ?? '', time.now)
  await orders.check(pro.id, 'sweep')
  t.same(await listPlans(), ['pro waiting manual', 'max active none', 'pro waiting provider'])
  await passTime(9 * dayMs + 31 * dayMs)
  t.same(await listPlans(), ['pro active provider'], 'the second span follows the first without a grace')
  t.same(await verify(), [])
})

t.test('before a deletion each renewal ends at its provider', async (t) => {
  const { orders, account, subscribe, provider, world, plans, time } = await openOrderShop(t)
  const pro = await subscribe('pro/month')
  await world.subscriptions.give(account.id, plans.max, time.now + 5 * dayMs)
  const ultra = await subscribe('ultra/month')
  t.equal(await orders.prepareDeletion(account.id), true)
  for (const { providerSubscription } of [pro, ultra]) t.not(provider.getSubscription(providerSubscription ?? '').state, 'active')
})

t.test(
  'terms that were not announced in time wait for the renewal after the next one, and cost nothing more before',
  async (t) => {
    const { subscribe, provider, store, world, plans, time, passTime, orders, account } = await openOrderShop(t)
    const pro = await subscribe('pro/month')
    const dearer = { amount: 80, currency: 'EUR', interval: 'month', multiplier: null } as const
    const configure = async (credits: number) => {
      plans.pro = createPlan('pro', credits, { prices: [dearer] })
      return store.subscriptions.ensureTerms(plans.pro, time.now)
    }
    const to = await configure(5)
    const from = pro.item.kind === 'plan' ? pro.item.terms : to
    await world.subscriptions.move({ from, to, at: 'renewal', isDryRun: false, reason: null })
    const reference = pro.providerSubscription ?? ''
    for (const renewal of [1, 2]) {
      await passTime(31 * dayMs + hourMs)
      provider.renew(reference, time.now)
      await orders.check(pro.id, 'sweep')
      t.equal(provider.getSubscription(reference).invoices.at(-1)?.money.amount, 3_000, `renewal ${renewal}`)
      t.match(await store.subscriptions.list(account.id), [{ terms: from, nextTerms: to.id }])
    }
    const better = await configure(20)
    await world.subscriptions.move({ from, to: better, at: 'now', isDryRun: false, reason: null })
    for (const renewal of [3, 4]) {
      await passTime(31 * dayMs)
      provider.renew(reference, time.now)
      await orders.check(pro.id, 'sweep')
      t.equal(provider.getSubscription(reference).invoices.at(-1)?.money.amount, 3_000, `renewal ${renewal}`)
      t.match(await store.subscriptions.list(account.id), [{ terms: better }], 'moved at once, at the price before')
    }
  },
)
