/** Money that goes back: what ends with it, what an upgrade had made of it, and what is left of the order. */
import t from 'tap'
import { PaymentProviderError } from '../../../../../src/domain/billing/orders/payment-provider.ts'
import { createRequest, placeOrder } from '../../../../support/payments/order-world.ts'
import { dayMs, eur, hourMs, openOrderShop } from '../../../../support/payments/order-shop.ts'

for (const change of [{ dispute: 'lost' }, { refunded: 3_000 }] as const)
  t.test(`the provider renews a plan no more after ${JSON.stringify(change)}, also where it fails at first`, async (t) => {
    const { subscribe, changeAtProvider, provider, passTime, listPlans, find, verify } = await openOrderShop(t)
    const { id, providerSubscription } = await subscribe('pro/month')
    let failures = 3
    provider.beforeAnswer = (call) => {
      if (call === 'cancelNow' && failures-- > 0) throw new PaymentProviderError('unavailable', 'no answer')
    }
    await changeAtProvider(id, change)
    t.same(await listPlans(), [])
    await passTime(2 * dayMs)
    t.equal(provider.getSubscription(providerSubscription ?? '').state, 'ended')
    t.match(await find(id), { state: 'refunded', nextCheckAt: null })
    t.same(await verify(), [])
  })

t.test('a renewal is granted while the first payment is disputed', async (t) => {
  const { subscribe, changeAtProvider, provider, passTime, listPlans, orders, time } = await openOrderShop(t)
  const { id, providerSubscription } = await subscribe('pro/month')
  t.match(await changeAtProvider(id, { dispute: 'open' }), { state: 'disputed' })
  await passTime(31 * dayMs + hourMs)
  provider.renew(providerSubscription ?? '', time.now)
  await passTime(10 * dayMs)
  t.same(await listPlans(), ['pro active provider'])
  t.match(await orders.list({ limit: 1 }), [{ event: 'renewal', state: 'granted' }])
  t.match(await changeAtProvider(id, { dispute: 'lost' }), { state: 'refunded' })
  t.same(await listPlans(), ['pro active provider'], 'a later payment pays for the plan')
  await passTime(25 * dayMs)
  provider.renew(providerSubscription ?? '', time.now)
  await passTime(2 * dayMs)
  t.equal((await orders.list({ limit: 10 })).length, 3, 'and its renewals are still seen')
})

t.test('the refund of an earlier span ends nothing that was paid for since', async (t) => {
  const { subscribe, provider, passTime, listPlans, orders, time, verify } = await openOrderShop(t)
  const { id, providerSubscription } = await subscribe('pro/month')
  await passTime(31 * dayMs + hourMs)
  provider.renew(providerSubscription ?? '', time.now)
  await passTime(dayMs)
  t.match(await orders.quoteRefund(id), { max: eur(3_000), endsPlan: false })
  t.match(await orders.refund(id, { reason: 'asked' }), { kind: 'done' })
  t.same(await listPlans(), ['pro active provider'])
  t.equal(provider.getSubscription(providerSubscription ?? '').state, 'active')
  const [renewal] = await orders.list({ limit: 1 })
  t.match(await orders.refund(renewal?.id ?? '', { reason: 'asked' }), { kind: 'done' })
  t.same(await listPlans(), [])
  t.equal(provider.getSubscription(providerSubscription ?? '').state, 'ended')
  t.same(await verify(), [])
})

t.test('what an upgrade took off its price is not refunded as well', async (t) => {
  const { buy, orders, passTime, listPlans, verify } = await openOrderShop(t)
  const pro = await buy('pro/month')
  await passTime(10 * dayMs)
  const max = await buy('max/month')
  t.match(max, { state: 'granted', credit: 2_032, due: eur(6_968) })
  t.match(await orders.quoteRefund(pro.id), { max: eur(968), endsPlan: true })
  t.match(await orders.refund(pro.id, { reason: 'asked', amount: 969 }), { reason: 'too_much' })
  t.match(await orders.refund(pro.id, { reason: 'asked' }), { kind: 'done', order: { refunded: 968 } })
  t.same(await listPlans(), ['max active manual'], 'the days that were used are no reason to end it')
  t.match(await orders.quoteRefund(max.id), { max: eur(6_968), endsPlan: true })
  t.same(await verify(), [])
})

t.test('upgrades end with the money whose unused days they took off', async (t) => {
  const { subscribe, buy, orders, account, changeAtProvider, listPlans, verify } = await openOrderShop(t)
  const pro = await subscribe('pro/month')
  await orders.cancelRenewal(account.id)
  const max = await buy('max/month')
  const ultra = await buy('ultra/month')
  t.match([max.credit, ultra.credit], [3_000, 9_000])
  t.match(await changeAtProvider(pro.id, { dispute: 'open' }), { state: 'disputed' })
  t.match(await changeAtProvider(pro.id, { dispute: 'lost' }), { state: 'refunded' })
  t.same(await listPlans(), [])
  t.match(await orders.quoteRefund(ultra.id), { max: eur(21_000) }, 'the rest can be refunded')
  t.same(await verify(), [])
})

t.test('nothing is taken off for days whose payment is disputed, being refunded or gone back', async (t) => {
  const { subscribe, orders, account, provider, changeAtProvider, world, find } = await openOrderShop(t)
  const pro = await subscribe('pro/month')
  await orders.cancelRenewal(account.id)
  const readCredit = async () => {
    const answer = await orders.quote(account, createRequest('max/month', { provider: 'manual' }))
    return answer.kind === 'good' ? answer.quote.credit : answer.reason
  }
  t.equal(await readCredit(), 3_000)
  const before = await placeOrder(world, 'max/month', { provider: 'manual' })
  await changeAtProvider(pro.id, { refunded: 1_000 })
  t.equal(await readCredit(), 2_000)
  t.match(await orders.confirm(before.id, before.due), { state: 'paid', problem: 'credit_used' }, 'the order was made before')
  await changeAtProvider(pro.id, { dispute: 'open' })
  t.equal(await readCredit(), 0)
  await changeAtProvider(pro.id, { dispute: 'won' })
  t.equal(await readCredit(), 2_000)
  provider.refundState = 'pending'
  await orders.refund(pro.id, { reason: 'asked' })
  t.match(await find(pro.id), { state: 'refunding' })
  t.equal(await readCredit(), 0)
})

t.test('an upgrade that is paid long after its end takes nothing off', async (t) => {
  const { buy, orders, passTime, world } = await openOrderShop(t)
  await buy('pro/month')
  const inTime = await placeOrder(world, 'max/month', { provider: 'manual' })
  const late = await placeOrder(world, 'ultra/month', { provider: 'manual' })
  await orders.cancel(late.id, 'member')
  await passTime(13 * dayMs)
  t.match(await orders.confirm(inTime.id, inTime.due), { state: 'granted' })
  await passTime(60 * dayMs)
  const order = await orders.confirm(late.id, late.due)
  t.match(order, { state: 'paid', problem: 'credit_used' })
  t.match(await orders.explain(late.id), { findings: [{ code: 'credit_used' }] })
  t.match(await orders.refund(late.id, { reason: 'too late' }), { kind: 'done', order: { refunded: late.due.amount } })
})

t.test('the rest of a pack is taken after the process died between the two', async (t) => {
  const { subscribe, provider, store, find, orders, passTime } = await openOrderShop(t)
  const { id, account, pack } = await subscribe('small')
  const { changePack } = store.ledger
  store.ledger.changePack = async () => {
    throw new Error('killed')
  }
  Object.assign(provider.payments.get(id) ?? {}, { refunded: 1_000 })
  await t.rejects(orders.check(id, 'notification'), /killed/)
  store.ledger.changePack = changePack.bind(store.ledger)
  t.match(await find(id), { state: 'refunded' })
  await passTime(hourMs)
  t.match(await store.ledger.findPack(account, pack ?? ''), { granted: 1_000, settled: 1_000 })
  t.match(await find(id), { state: 'refunded', nextCheckAt: null })
})

t.test('a refund that the provider refuses gives back what was locked', async (t) => {
  const { subscribe, provider, store, orders, find, passTime } = await openOrderShop(t)
  const { id, account, pack } = await subscribe('small')
  provider.beforeAnswer = (call) => {
    if (call === 'refund') throw new PaymentProviderError('refused', 'it was refunded before')
  }
  t.match(await orders.refund(id, { reason: 'asked' }), { kind: 'failed', order: { state: 'granted', refund: null } })
  t.match(await store.ledger.findPack(account, pack ?? ''), { settled: 0 })
  Object.assign(provider.payments.get(id) ?? {}, { refunded: 1_000 })
  await passTime(hourMs)
  t.match(await find(id), { state: 'refunded', refunded: 1_000 }, 'the provider is asked whether it has')
  t.match(await store.ledger.findPack(account, pack ?? ''), { settled: 1_000 })
})

t.test('the rest of money that grants nothing stays to be refunded or completed', async (t) => {
  const { world, orders, verify } = await openOrderShop(t)
  for (const end of ['refunded', 'completed']) {
    const { id } = await placeOrder(world, 'pro/month', { provider: 'manual' })
    t.match(await orders.confirm(id, eur(1_000)), { state: 'paid', problem: 'amount' })
    t.match(await orders.refund(id, { reason: 'asked', amount: 300 }), {
      kind: 'done',
      order: { state: 'paid', problem: 'amount' },
    })
    t.match(await orders.quoteRefund(id), { max: eur(700) })
    if (end === 'refunded')
      t.match(await orders.refund(id, { reason: 'asked' }), { kind: 'done', order: { state: 'refunded', refunded: 1_000 } })
    else {
      t.match(await orders.confirm(id, eur(3_000)), { state: 'paid', problem: 'amount' }, '300 of it have gone back')
      t.match(await orders.confirm(id, eur(3_300)), { state: 'granted' })
    }
  }
  t.same(await verify(), [])
})

t.test('what a part of was refunded can be refunded to the end', async (t) => {
  const { subscribe, buy, orders, provider, store, find, passTime, verify } = await openOrderShop(t)
  const plan = await buy('pro/month')
  t.match(await orders.refund(plan.id, { reason: 'asked', amount: 500 }), { kind: 'done', order: { state: 'refunded' } })
  t.match(await orders.quoteRefund(plan.id), { max: eur(2_500) })
  t.match(await orders.refund(plan.id, { reason: 'mistyped' }), { kind: 'done', order: { refunded: 3_000 } })
  t.match(await orders.refund(plan.id, { reason: 'again' }), { reason: 'nothing_left' })

  const pack = await subscribe('small')
  const countTaken = async () => (await store.ledger.findPack(pack.account, pack.pack ?? ''))?.settled
  t.match(await orders.refund(pack.id, { reason: 'asked', amount: 300 }), { kind: 'done', order: { refunded: 300 } })
  provider.refundState = 'failed'
  t.match(await orders.refund(pack.id, { reason: 'the rest', amount: 100 }), { kind: 'failed', order: { state: 'refunded' } })
  await passTime(hourMs)
  t.equal(await countTaken(), 300, 'what the provider did not refund stays the member’s')
  t.match(await find(pack.id), { state: 'refunded', nextCheckAt: null })
  provider.refundState = 'done'
  t.match(await orders.refund(pack.id, { reason: 'the rest' }), { kind: 'done', order: { refunded: 1_000 } })
  t.equal(await countTaken(), 1_000)
  t.same(await verify(), [])
})
