/** Orders whose opening, cancelling and checking meet each other, or a failure. */
import t from 'tap'
import { PaymentProviderError } from '../../../../../src/domain/billing/orders/payment-provider.ts'
import { createRequest, placeOrder, testClient } from '../../../../support/payments/order-world.ts'
import { dayMs, eur, hourMs, openOrderShop } from '../../../../support/payments/order-shop.ts'

t.test('of one upgrade that two pages order at once, the provider is paid and one order granted', async (t) => {
  const { orders, account, subscribe, provider, listPlans, store, passTime, verify } = await openOrderShop(t)
  await subscribe('pro/month')
  provider.changePrice = eur(6_000)
  const answers = await Promise.all([1, 2].map(() => orders.create(account, createRequest('max/month'), testClient)))
  t.same(
    answers.map(({ kind }) => kind),
    ['good', 'good'],
  )
  await passTime(dayMs)
  const placed = (await store.orders.list({ limit: 2 })).map(({ state }) => state)
  t.same(placed.toSorted(), ['cancelled', 'granted'])
  t.same(await listPlans(), ['max active provider'])
  t.same(await verify(), [])
})

t.test('an order that fails here keeps no other from being asked about', async (t) => {
  const { world, orders, provider, time, find, store } = await openOrderShop(t)
  const failing: string[] = []
  for (let index = 0; index < 5; index++) failing.push((await placeOrder(world, 'small')).id)
  const [last = ''] = failing.splice(4)
  provider.pay(last)
  // As a fault of the gateway or its database would.
  const { find: read } = store.orders
  Object.assign(store.orders, {
    find: async (id: string) => {
      const order = await read(id)
      if (failing.includes(id) && order?.failure === null) throw new TypeError('a fault')
      return order
    },
  })
  time.now += 20_000
  await t.rejects(orders.sweep(), { message: /^4 orders/ })
  t.match(await find(last), { state: 'granted' })
})

t.test('a plan that is charged while its order is cancelled is granted', async (t) => {
  const { orders, account, subscribe, provider, listPlans, store, verify } = await openOrderShop(t)
  await subscribe('pro/month')
  provider.changePrice = eur(6_000)
  const cancelled: Promise<unknown>[] = []
  provider.beforeAnswer = (call) => {
    if (call !== 'change') return
    provider.beforeAnswer = () => undefined
    cancelled.push(store.orders.list({ limit: 1 }).then(async ([order]) => orders.cancel(order?.id ?? '', 'member')))
  }
  const { change } = provider.subscriptions
  provider.subscriptions.change = async (...given) => {
    const opened = await change(...given)
    await Promise.all(cancelled)
    return opened
  }
  await orders.create(account, createRequest('max/month'), testClient)
  const [order] = await store.orders.list({ limit: 1 })
  t.match(await store.orders.listSteps(order?.id ?? ''), [{}, { kind: 'cancelled' }, { kind: 'paid' }, { kind: 'granted' }])
  t.same(await listPlans(), ['max active provider'])
  t.same(await verify(), [])
})

t.test('a payment that is on its way is not cancelled, however long it takes', async (t) => {
  const { world, orders, provider, find, passTime, verify } = await openOrderShop(t)
  const { id } = await placeOrder(world, 'small')
  Object.assign(provider.payments.get(id) ?? {}, { state: 'pending' })
  t.match(await orders.cancel(id, 'member'), { state: 'sent' })
  await passTime(7 * dayMs)
  Object.assign(provider.payments.get(id) ?? {}, { state: 'open' })
  provider.pay(id)
  await passTime(6 * hourMs)
  t.match(await find(id), { state: 'granted' })
  t.same(await verify(), [])
})

t.test('a clock that ran a year ahead postpones no question by a year', async (t) => {
  const { subscribe, world, provider, time, passTime, orders, listPlans, verify } = await openOrderShop(t)
  const { id, providerSubscription } = await subscribe('pro/month')
  const transfer = await placeOrder(world, 'small', { provider: 'manual' })
  const now = time.now
  time.now += 365 * dayMs
  await orders.check(id, 'sweep')
  const ahead = await placeOrder(world, 'small', { provider: 'manual' })
  time.now = now
  await passTime(31 * dayMs)
  provider.renew(providerSubscription ?? '', time.now)
  await passTime(dayMs)
  t.same(await listPlans(), ['pro active provider'])
  t.match(await orders.list({ limit: 1, states: ['granted'] }), [{ event: 'renewal' }])
  t.match(await orders.find(null, transfer.id), { state: 'expired' })
  const { nextCheckAt } = (await orders.find(null, ahead.id)) ?? {}
  t.ok((nextCheckAt ?? 0) <= time.now + 14 * dayMs, 'and is not due all the time')
  t.same(await verify(), [])
})

t.test('what the operator confirms cannot be paid at its provider as well', async (t) => {
  const { world, orders, provider, find, listPlans, verify } = await openOrderShop(t)
  const { id, due } = await placeOrder(world, 'small')
  provider.beforeAnswer = () => {
    throw new PaymentProviderError('unavailable', 'no answer')
  }
  t.match(await orders.confirm(id, due), { state: 'sent', paidAt: null }, 'while the provider may be paid')
  provider.beforeAnswer = () => undefined
  t.match(await orders.confirm(id, due), { state: 'granted' })
  t.equal(provider.payments.get(id)?.state, 'closed')
  const plan = await placeOrder(world, 'pro/month')
  t.match(await orders.confirm(plan.id, plan.due), { state: 'granted' })
  t.same(await listPlans(), ['pro active manual'], 'and its provider renews nothing')
  const paid = await placeOrder(world, 'small')
  provider.pay(paid.id)
  await orders.confirm(paid.id, due)
  t.match(await find(paid.id), { state: 'granted', payment: /^pay_/ })
  t.match(await orders.refund(paid.id, { reason: 'paid twice' }), { kind: 'done' }, 'what was paid at the provider goes back')
  t.same(await verify(), [])
})

t.test('an order that the provider could not open ends after a day, and does not wait for the provider', async (t) => {
  const { orders, account, provider, passTime, find } = await openOrderShop(t)
  provider.beforeAnswer = () => {
    throw new PaymentProviderError('unavailable', 'no answer')
  }
  const answer = await orders.create(account, createRequest('pro/month'), testClient)
  if (answer.kind === 'refused') throw new Error(answer.reason)
  await passTime(2 * dayMs)
  t.match(await find(answer.order.id), { state: 'expired', nextCheckAt: null })
  provider.beforeAnswer = () => undefined
  await passTime(dayMs)
  t.equal(provider.payments.size, 0)
})
