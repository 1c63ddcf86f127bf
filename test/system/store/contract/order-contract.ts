/** The contract of orders on every store, with the service that decides about them and a provider in memory. */
import type { Test } from 'tap'
import { PaymentProviderError } from '../../../../src/domain/billing/orders/payment-provider.ts'
import { isRunning } from '../../../../src/domain/billing/subscriptions/subscription.ts'
import type { Store } from '../../../../src/domain/store.ts'
import { createPlan } from '../../../support/gateway/test-plans.ts'
import { createOrderWorld, createRequest, placeOrder, salePlans, testClient } from '../../../support/payments/order-world.ts'
import type { OrderWorld } from '../../../support/payments/order-world.ts'
import { createManualProvider, PaymentProviderStandIn } from '../../../support/payments/payment-provider-stand-in.ts'
import {
  addAccount,
  createReserveOrder,
  createSettleOrder,
  noon,
  readBalance,
  toAccountId,
} from '../../../support/store/contract/store-contract.ts'

const day = 86_400_000
const eur = (amount: number) => ({ amount, currency: 'EUR' })

interface Scene {
  readonly store: Store
  readonly world: OrderWorld
  readonly provider: PaymentProviderStandIn
  readonly time: { now: number }
}

/** The plan of the account, and its end in days from now. */
async function readPlan({ store, time, world }: Scene) {
  const entitlement = await store.subscriptions.findEntitlement(world.account.id)
  const running = entitlement?.subscriptions.find(isRunning)
  return {
    plan: entitlement?.plan,
    days: running?.endsAt == null ? null : Math.round((running.endsAt - time.now) / day),
    waiting: entitlement?.subscriptions.filter(({ state }) => state === 'waiting').length,
  }
}

async function pay({ world, provider }: Scene, what: string) {
  const order = await placeOrder(world, what)
  provider.pay(order.id)
  return world.orders.check(order.id, 'return')
}

/** `openStore` returns an empty store and closes it at the end of the test. */
export function testOrderContract(t: Test, openStore: (t: Test) => Promise<Store>): void {
  const test = (name: string, run: (t: Test, scene: Scene) => Promise<void>): void => {
    t.test(name, async (t) => {
      const store = await openStore(t)
      await addAccount(store)
      const account = await store.accounts.find(toAccountId(1))
      if (account === undefined) throw new Error('there is no account')
      const time = { now: noon }
      const provider = new PaymentProviderStandIn()
      const world = createOrderWorld({ store, time, account, providers: [provider, createManualProvider()] })
      await run(t, { store, world, provider, time })
      t.same((await store.ledger.verify()).mismatches, [], 'the ledger adds up')
      t.same(await store.orders.verify(), [], 'what is paid is granted once')
    })
  }

  test('a plan is granted once it is paid, with the story of the order', async (t, scene) => {
    const { store, world, provider } = scene
    const order = await placeOrder(world, 'pro/month')
    t.match(order, { state: 'sent', event: 'first', due: eur(3_000), number: '2026-000001', url: /^https:/ })
    t.match(await world.orders.check(order.id, 'return'), { state: 'sent' }, 'nothing is paid yet')
    t.match(await readPlan(scene), { plan: 'free' })
    provider.pay(order.id)
    const granted = await world.orders.check(order.id, 'return')
    t.match(granted, { state: 'granted', paid: eur(3_000), payment: 'pay_2' })
    t.match(await readPlan(scene), { plan: 'pro', days: 31 })
    await world.orders.check(order.id, 'member')
    t.equal((await store.subscriptions.list(toAccountId(1))).length, 1, 'and not again')
    t.same(
      (await store.orders.listSteps(order.id)).map(({ kind, by }) => [kind, by]),
      [
        ['created', 'member'],
        ['sent', 'member'],
        ['paid', 'return'],
        ['granted', 'return'],
      ],
    )
    t.same(
      world.audited.map(([event]) => event),
      ['order_created', 'order_paid', 'order_granted'],
    )
  })

  test('the same request is the same order, also at the same time', async (t, { world, store, provider }) => {
    const request = createRequest('small')
    const answers = await Promise.all(Array.from({ length: 10 }, () => world.orders.create(world.account, request, testClient)))
    t.equal(new Set(answers.map((answer) => (answer.kind === 'good' ? answer.order.id : answer.reason))).size, 1)
    t.equal((await store.orders.list({ limit: 10 })).length, 1)
    t.equal(provider.payments.size, 1)
  })

  test('an order that costs more than the member was shown is refused', async (t, { world, store }) => {
    const request = createRequest('pro/month')
    for (const maxDue of [2_999, Number.NaN])
      t.match(await world.orders.create(world.account, { ...request, maxDue }, testClient), { reason: 'price_changed' })
    t.same(await store.orders.list({ limit: 10 }), [])
    t.match(await world.orders.create(world.account, { ...request, maxDue: 3_000 }, testClient), { kind: 'good' })
  })

  test('a verification that is aborted ends with the reason', async (t, { store }) => {
    const controller = new AbortController()
    const verification = store.orders.verify(controller.signal)
    controller.abort(new Error('the process stops'))
    await t.rejects(verification, /the process stops/)
  })

  test('an account has a bounded number of orders that are not paid', async (t, { world }) => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => world.orders.create(world.account, createRequest('small'), testClient)),
    )
    t.equal(answers.filter(({ kind }) => kind === 'good').length, 5)
    t.match(await world.orders.create(world.account, createRequest('small'), testClient), { reason: 'too_many_open' })
    const [first] = await world.orders.list({ account: world.account.id, limit: 1 })
    t.match(await world.orders.cancel(first?.id ?? '', 'member'), { state: 'cancelled' })
    t.match(await world.orders.create(world.account, createRequest('small'), testClient), { kind: 'good' })
  })

  test('numbers are whole and unique in a year', async (t, { world, time, provider }) => {
    const numbers: string[] = []
    for (let count = 0; count < 4; count++) {
      const order = await placeOrder(world, 'small')
      numbers.push(order.number)
      provider.pay(order.id)
      await world.orders.check(order.id, 'return')
      if (count === 2) time.now += 365 * day
    }
    t.same(numbers, ['2026-000001', '2026-000002', '2026-000003', '2027-000001'])
  })

  test('a pack is delivered once, and spent after the plan', async (t, scene) => {
    const { store, world } = scene
    const order = await pay(scene, 'small')
    t.match(order, { state: 'granted', pack: /^pack_ord_/ })
    t.same((await readBalance(store)).packs, { [order?.pack ?? '']: 1_000 })
    await Promise.all(Array.from({ length: 5 }, () => world.orders.check(order?.id ?? '', 'member')))
    t.same((await readBalance(store)).packs, { [order?.pack ?? '']: 1_000 })
  })

  test('a pack without an end, in a currency without decimals', async (t, { store, world, provider }) => {
    const order = await placeOrder(world, 'endless', { currency: 'JPY' })
    t.match(order, { due: { amount: 700, currency: 'JPY' } })
    provider.pay(order.id)
    const granted = await world.orders.check(order.id, 'return')
    const pack = await store.ledger.findPack(world.account.id, granted?.pack ?? '')
    t.match(pack, { granted: 500, expiresAt: 253_402_214_400_000 })
  })

  test('less money, or another currency, grants nothing and is seen', async (t, { store, world, provider }) => {
    for (const [money, problem] of [
      [eur(999), 'amount'],
      [{ amount: 1_000, currency: 'USD' }, 'currency'],
      [eur(0), 'amount'],
    ] as const) {
      const order = await placeOrder(world, 'small')
      provider.pay(order.id, money)
      t.match(await world.orders.check(order.id, 'return'), { state: 'paid', problem, paid: money })
      const { findings } = (await world.orders.explain(order.id)) ?? { findings: [] }
      t.equal(findings[0]?.code, problem)
      t.match(findings[0]?.operator, /order refund/)
    }
    t.match(await store.orders.countUngranted(), { count: 3, oldestPaidAt: noon })
    const more = await placeOrder(world, 'small')
    provider.pay(more.id, eur(1_190))
    t.match(await world.orders.check(more.id, 'return'), { state: 'granted', paid: eur(1_190) }, 'with tax')
    const [, , , first] = await world.orders.list({ limit: 10 })
    t.match(await world.orders.refund(first?.id ?? '', { reason: 'too little' }), { kind: 'done', order: { state: 'refunded' } })
    t.match(await store.orders.countUngranted(), { count: 2 })
  })

  test('one payment of a provider pays one order', async (t, { world, provider, store }) => {
    const [one, other] = [await placeOrder(world, 'small'), await placeOrder(world, 'small')]
    provider.pay(one.id)
    provider.pay(other.id)
    const paid = provider.payments.get(one.id)
    const copied = provider.payments.get(other.id)
    if (paid === undefined || copied === undefined) throw new Error('there is no payment')
    copied.payment = paid.payment
    await world.orders.check(one.id, 'return')
    t.match(await world.orders.check(other.id, 'return'), { state: 'sent', problem: 'payment_of_another_order' })
    t.equal(Object.keys((await readBalance(store)).packs).length, 1)
    t.equal((await world.orders.explain(other.id))?.findings[0]?.code, 'payment_of_another_order')
  })

  test('what the provider has opened is asked about until it is paid, or closed', async (t, { world, provider, time, store }) => {
    const [paid, unpaid] = [await placeOrder(world, 'small'), await placeOrder(world, 'small')]
    const queries: number[] = []
    provider.beforeAnswer = (call) => void (call === 'query' && queries.push(time.now - noon))
    for (; time.now < noon + 30 * 3_600_000; time.now += 20_000) {
      if (time.now === noon + 20 * 60_000) provider.pay(paid.id)
      await world.orders.sweep()
    }
    t.match(await world.orders.find(null, paid.id), { state: 'granted', grantedAt: noon + (20 + 60 + 300 + 900) * 1_000 })
    t.match(await world.orders.find(null, unpaid.number), { state: 'expired' })
    t.equal(provider.payments.get(unpaid.id)?.state, 'closed', 'it cannot be paid any more')
    t.same(
      queries.filter((at) => at < 3_600_000).map((at) => at / 1_000),
      [20, 20, 80, 80, 380, 380, 1_280, 1_280],
    )
    t.same(await store.orders.listDue(noon + 365 * day, 10, day).then((due) => due.map(({ id }) => id)), [unpaid.id])
    const found = await world.orders.explain(unpaid.id)
    t.equal(found?.findings[0]?.code, 'expired')
  })

  test('late money of an order that has expired or was cancelled is granted', async (t, scene) => {
    const { world, provider, time } = scene
    const [expired, cancelled] = [await placeOrder(world, 'small'), await placeOrder(world, 'small')]
    await world.orders.cancel(cancelled.id, 'member')
    time.now += 24 * 3_600_000
    await world.orders.sweep()
    t.match(await world.orders.find(null, expired.id), { state: 'expired' })
    for (const { id } of [expired, cancelled]) {
      const payment = provider.payments.get(id)
      if (payment === undefined) throw new Error('there is no payment')
      payment.state = 'open'
      provider.pay(id)
      t.match(await world.orders.check(id, 'sweep'), { state: 'granted' })
    }
  })

  test('a notification is only a hint, and a wrong one is recorded', async (t, { world, provider, time, store }) => {
    const order = await placeOrder(world, 'small')
    const hint = [{ kind: 'order', order: order.id }]
    t.match(await world.orders.receive('stand-in', provider.signNotification(hint, time.now)), { status: 200 })
    t.match(await world.orders.find(null, order.id), { state: 'sent', notifiedAt: noon }, 'nothing was paid')
    t.match(await world.orders.receive('stand-in', provider.signNotification(hint, time.now + 5, 'forged')), { status: 400 })
    t.match(await store.orders.listNotificationRecords(), [{ provider: 'stand-in', acceptedAt: noon, refusal: 'signature' }])
    const found = await world.orders.explain(order.id)
    t.match(
      found?.findings.map(({ code, setting }) => [code, setting]),
      [
        ['not_paid', null],
        ['notification_refused', 'payments.providers.stand-in.secret'],
      ],
    )
    provider.pay(order.id)
    time.now += 5_000
    for (let times = 0; times < 3; times++)
      await world.orders.receive(
        'stand-in',
        provider.signNotification([...hint, { kind: 'order', order: 'ord_unknown' }], time.now),
      )
    t.match(await world.orders.find(null, order.id), { state: 'granted' })
    t.equal((await store.orders.listSteps(order.id)).filter(({ kind }) => kind === 'notified').length, 1)
    await t.rejects(world.orders.receive('unknown', provider.signNotification([], time.now)), RangeError)
  })

  test('a provider that fails, hangs or answers rubbish leaves the order to be asked again', async (t, {
    world,
    provider,
    time,
  }) => {
    provider.beforeAnswer = () => {
      throw new PaymentProviderError('unavailable', 'no answer within 10 s')
    }
    const order = await placeOrder(world, 'small')
    t.match(order, { state: 'created', failure: { reason: 'unavailable' } })
    t.equal((await world.orders.explain(order.id))?.findings[0]?.code, 'provider_unavailable')
    provider.beforeAnswer = () => {
      throw new TypeError('reference of undefined')
    }
    time.now += 3_600_000
    await world.orders.sweep()
    t.match(await world.orders.find(null, order.id), { failure: { message: /could not be asked/ } })
    provider.beforeAnswer = () => undefined
    time.now += 3_600_000
    await world.orders.sweep()
    t.match(await world.orders.find(null, order.id), { state: 'sent', failure: null })
    provider.pay(order.id)
    const payment = provider.payments.get(order.id)
    for (const paid of [
      { amount: -1, currency: 'EUR' },
      { amount: 0.5, currency: 'EUR' },
      { amount: 1, currency: 'E' },
    ]) {
      if (payment !== undefined) payment.paid = paid
      t.match(await world.orders.check(order.id, 'member'), { state: 'sent', failure: { reason: 'unavailable' } })
    }
    if (payment !== undefined) payment.paid = eur(1_000)
    t.match(await world.orders.check(order.id, 'member'), { state: 'granted', failure: null })
    t.equal((await world.orders.listSteps(order.id)).filter(({ kind }) => kind === 'provider_failed').length, 2)
  })

  test('a provider that refuses an order closes it', async (t, { world, provider }) => {
    provider.beforeAnswer = () => {
      throw new PaymentProviderError('refused', 'amounts below 0.50 are not accepted')
    }
    t.match(await placeOrder(world, 'small'), { state: 'cancelled' })
  })

  test('transfers are confirmed by the operator, and expire without one', async (t, scene) => {
    const { world, time } = scene
    const order = await placeOrder(world, 'pro/month', { provider: 'manual' })
    t.match(order, { state: 'sent', url: null, instructions: `Transfer with ${order.number}`, renews: false })
    t.equal((await world.orders.explain(order.id))?.findings[0]?.code, 'waiting_for_operator')
    t.match(await world.orders.confirm(order.id, eur(2_900)), { state: 'paid', problem: 'amount' })
    t.match(await world.orders.confirm(order.id, eur(3_000)), { state: 'granted', problem: null, paid: eur(3_000) })
    t.match(await world.orders.confirm(order.id, eur(3_000)), { state: 'granted' })
    t.match(await readPlan(scene), { plan: 'pro', days: 31, waiting: 0 })
    const late = await placeOrder(world, 'small', { provider: 'manual' })
    time.now += 15 * day
    await world.orders.sweep()
    t.match(await world.orders.find(null, late.id), { state: 'expired' })
    t.match(await world.orders.confirm(late.id, eur(1_000), 'statement 7'), { state: 'granted', payment: 'statement 7' })
    t.match(await world.orders.refund(late.id, { reason: 'asked' }), { kind: 'done', byHand: true })
  })

  test('an upgrade takes unused whole days off, and of two paid ones the second is to be refunded', async (t, scene) => {
    const { world, provider, time, store } = scene
    await pay(scene, 'pro/month')
    await world.orders.cancelRenewal(world.account.id)
    time.now += 10.5 * day
    const [one, other] = [await placeOrder(world, 'max/month'), await placeOrder(world, 'max/month')]
    t.match(one, { event: 'upgrade', price: eur(9_000), credit: Math.floor((3_000 * 20) / 31), formerSubscription: /^sub_/ })
    provider.pay(one.id)
    provider.pay(other.id)
    t.match(await world.orders.check(one.id, 'return'), { state: 'granted' })
    t.match(await readPlan(scene), { plan: 'max', days: 31, waiting: 0 }, 'the credited plan has ended')
    t.match(await world.orders.check(other.id, 'return'), { state: 'paid', problem: 'credit_used' })
    t.match(await store.orders.countUngranted(), { count: 1 })
    t.match(await world.orders.refund(other.id, { reason: 'paid twice' }), { kind: 'done' })
    t.equal(provider.payments.get(other.id)?.refunded, 9_000 - Math.floor((3_000 * 20) / 31))
  })

  test('of a pack only what is neither spent nor held is refunded, and it is locked meanwhile', async (t, scene) => {
    const { world, provider, store } = scene
    const order = await pay(scene, 'small')
    const pack = order?.pack ?? ''
    const none = { day: 0, week: 0, month: 0 }
    const reserve = async (amount: number, part: number) => {
      const held = await store.ledger.reserve(
        createReserveOrder({ amount, minAmount: amount, limits: none, requestId: `mbr_${part}` }),
      )
      return held.kind === 'held' ? held.hold.id : 0
    }
    await store.ledger.settle(createSettleOrder(await reserve(250, 1), 250))
    const held = await reserve(150, 2)
    t.match(await world.orders.quoteRefund(order?.id ?? ''), { max: eur(600), unspentCredits: 600 })
    t.match(await world.orders.refund(order?.id ?? '', { amount: 601, reason: 'asked' }), { reason: 'too_much' })

    provider.refundState = 'pending'
    t.match(await world.orders.refund(order?.id ?? '', { reason: 'asked' }), { kind: 'started', order: { state: 'refunding' } })
    t.match(await store.ledger.reserve(createReserveOrder({ amount: 1, minAmount: 1, limits: none })), {
      kind: /insufficient|elsewhere/,
    })
    t.match(await world.orders.refund(order?.id ?? '', { reason: 'again' }), { reason: 'running' })
    provider.refundState = 'failed'
    t.match(await world.orders.check(order?.id ?? '', 'sweep'), { state: 'granted', refund: null })
    t.match(await store.ledger.findPack(world.account.id, pack), { granted: 1_000, settled: 250, reserved: 150 }, 'given back')

    provider.refundState = 'done'
    t.match(await world.orders.refund(order?.id ?? '', { reason: 'asked' }), {
      kind: 'done',
      order: { state: 'refunded', refunded: 600 },
    })
    await store.ledger.settle(createSettleOrder(held, 150))
    t.match(await store.ledger.findPack(world.account.id, pack), { settled: 1_000, reserved: 0 })
    t.equal(provider.payments.get(order?.id ?? '')?.refunded, 600)
    t.match(await world.orders.refund(order?.id ?? '', { reason: 'again' }), { reason: 'nothing_left' })
  })

  test('a refund goes on after the process died at any point of it', async (t, scene) => {
    const { world, provider, store } = scene
    for (const point of ['before', 'after'] as const) {
      const order = await pay(scene, 'small')
      const fail = (call: string): void => {
        if (call === 'refund') throw new Error('the process is killed')
      }
      provider.beforeAnswer = point === 'before' ? fail : () => undefined
      provider.beforeReturn = point === 'after' ? fail : () => undefined
      t.match(await world.orders.refund(order?.id ?? '', { reason: 'asked' }), { kind: 'started' })
      provider.beforeAnswer = provider.beforeReturn = () => undefined
      t.match(await world.orders.check(order?.id ?? '', 'sweep'), { state: 'refunded', refunded: 1_000 })
      t.equal(provider.payments.get(order?.id ?? '')?.refunded, 1_000, 'once')
      t.match(await store.ledger.findPack(world.account.id, order?.pack ?? ''), { settled: 1_000 })
    }
  })

  test('the refund of a plan ends it, and its renewal at the provider', async (t, scene) => {
    const { world, provider } = scene
    const order = await pay(scene, 'pro/month')
    t.match(await world.orders.refund(order?.id ?? '', { amount: 100, reason: 'a part' }), { kind: 'done' })
    t.match(await readPlan(scene), { plan: 'free', waiting: 0 })
    t.equal(provider.providerSubscriptions.get(`psub_${order?.id}`)?.state, 'ended')
  })

  test('a refund that was made at the provider, and a dispute, take what is left', async (t, scene) => {
    const { world, provider, store } = scene
    const [refunded, disputed] = [await pay(scene, 'small'), await pay(scene, 'small')]
    const set = (id: string | undefined, change: object) => Object.assign(provider.payments.get(id ?? '') ?? {}, change)
    set(refunded?.id, { refunded: 400 })
    t.match(await world.orders.check(refunded?.id ?? '', 'notification'), { state: 'granted', refunded: 400 })
    set(refunded?.id, { refunded: 1_000 })
    t.match(await world.orders.check(refunded?.id ?? '', 'notification'), { state: 'refunded', refunded: 1_000 })
    t.match(await store.ledger.findPack(world.account.id, refunded?.pack ?? ''), { settled: 1_000 })

    for (const outcome of ['won', 'lost'] as const) {
      set(disputed?.id, { dispute: 'open' })
      t.match(await world.orders.check(disputed?.id ?? '', 'notification'), { state: 'disputed' })
      t.match(await store.ledger.findPack(world.account.id, disputed?.pack ?? ''), { settled: 1_000 }, 'locked')
      set(disputed?.id, { dispute: outcome })
      const decided = await world.orders.check(disputed?.id ?? '', 'sweep')
      t.equal(decided?.state, outcome === 'won' ? 'granted' : 'refunded')
      t.match(await store.ledger.findPack(world.account.id, disputed?.pack ?? ''), { settled: outcome === 'won' ? 0 : 1_000 })
    }
  })

  test('each paid invoice of a provider renews the plan once', async (t, scene) => {
    const { world, provider, time, store } = scene
    const order = await pay(scene, 'pro/month')
    t.match(order, { renews: true, providerSubscription: `psub_${order?.id}` })
    const reference = order?.providerSubscription ?? ''
    time.now += 31 * day
    await scene.world.subscriptions.advanceDue()
    t.match(await readPlan(scene), { plan: 'pro', days: 0 }, 'the provider charges a moment after the end')
    provider.renew(reference, time.now)
    for (let times = 0; times < 3; times++)
      await world.orders.receive(
        'stand-in',
        provider.signNotification([{ kind: 'subscription', reference }], (time.now += 60_000)),
      )
    t.match(await readPlan(scene), { plan: 'pro', days: 30, waiting: 0 })
    const orders = await world.orders.list({ account: world.account.id, limit: 10 })
    t.same(
      orders.map(({ event, state }) => [event, state]),
      [
        ['renewal', 'granted'],
        ['first', 'granted'],
      ],
    )
    t.equal((await store.subscriptions.list(world.account.id)).length, 1, 'the same subscription')

    provider.getSubscription(reference).state = 'past_due'
    await world.orders.check(order?.id ?? '', 'sweep')
    t.match(await store.subscriptions.list(world.account.id), [{ state: 'past_due' }])
    time.now += 36 * day
    await world.subscriptions.advanceDue()
    t.match(await readPlan(scene), { plan: 'pro' }, 'within the grace')
    time.now += 2 * day
    await world.subscriptions.advanceDue()
    t.match(await readPlan(scene), { plan: 'free' })
  })

  test('a renewal that is cancelled ends with what is paid', async (t, scene) => {
    const { world, provider, time } = scene
    const order = await pay(scene, 'pro/month')
    t.equal(await world.orders.cancelRenewal(world.account.id), 'cancelled')
    t.equal(provider.getSubscription(order?.providerSubscription ?? '').state, 'cancelled')
    time.now += 31 * day - 1
    await world.subscriptions.advanceDue()
    t.match(await readPlan(scene), { plan: 'pro' })
    time.now += 1
    await world.subscriptions.advanceDue()
    t.match(await readPlan(scene), { plan: 'free' })
    t.equal(await world.orders.cancelRenewal(world.account.id), 'no_renewal')
  })

  test('a plan that renews itself is upgraded at its provider, and keeps the end', async (t, scene) => {
    const { world, provider, time, store } = scene
    await pay(scene, 'pro/month')
    time.now += 10 * day
    provider.changePrice = eur(4_123)
    t.match(await world.orders.quote(world.account, createRequest('pro/month')), { reason: 'renews_itself' })
    t.match(await world.orders.quote(world.account, createRequest('max/month', { provider: 'manual' })), {
      reason: 'renews_itself',
    })
    t.match(await world.orders.quote(world.account, createRequest('max/month')), {
      quote: { due: eur(4_123), event: 'upgrade', renews: true },
    })
    const order = await placeOrder(world, 'max/month')
    t.match(order, { state: 'granted', paid: eur(4_123) })
    t.match(await readPlan(scene), { plan: 'max', days: 21, waiting: 0 })
    t.equal((await store.subscriptions.list(world.account.id)).length, 1)
    provider.renew(order.providerSubscription ?? '', time.now)
    await world.orders.receive(
      'stand-in',
      provider.signNotification([{ kind: 'subscription', reference: order.providerSubscription }], (time.now += 21 * day)),
    )
    t.match(await readPlan(scene), { plan: 'max', days: 30 })
    t.match(await world.orders.list({ limit: 1 }), [{ event: 'renewal', price: eur(9_000) }])
  })

  test('what goes back at the provider after a part was refunded is seen, and the rest of a pack is taken', async (t, scene) => {
    const { store, world, provider, time } = scene
    const order = await pay(scene, 'small')
    const id = order?.id ?? ''
    const payment = provider.payments.get(id)
    if (payment === undefined) throw new Error('there is no payment')
    const readPack = () => store.ledger.findPack(world.account.id, order?.pack ?? '')
    const notify = () =>
      world.orders.receive('stand-in', provider.signNotification([{ kind: 'order', order: id }], (time.now += 60_000)))
    t.match(await world.orders.refund(id, { amount: 400, reason: 'asked' }), { kind: 'done' })
    t.match(await readPack(), { settled: 400 })
    payment.refunded += 300
    await notify()
    t.match(await world.orders.find(null, id), { state: 'refunded', refunded: 700 }, 'a second part, in the dashboard')
    t.match(await readPack(), { settled: 400 }, 'the rest is still the member’s')
    payment.refunded += 300
    await notify()
    t.match(await world.orders.find(null, id), { state: 'refunded', refunded: 1_000 })
    t.match(await readPack(), { settled: 1_000 }, 'and nothing is left for nothing')
    await notify()
    t.same(
      (await store.orders.listSteps(id)).filter(({ kind }) => /refunded/.test(kind)).map(({ facts }) => facts['money']),
      ['4.00 EUR', '3.00 EUR', '3.00 EUR'],
    )
  })

  test('a dispute that is lost after a part was refunded takes the rest', async (t, scene) => {
    const { store, world, provider } = scene
    const order = await pay(scene, 'small')
    const id = order?.id ?? ''
    await world.orders.refund(id, { amount: 400, reason: 'asked' })
    const payment = provider.payments.get(id)
    if (payment !== undefined) payment.dispute = 'lost'
    for (let time = 0; time < 2; time++) await world.orders.check(id, 'operator')
    t.match(await world.orders.find(null, id), { state: 'refunded', refunded: 1_000 })
    t.match(await store.ledger.findPack(world.account.id, order?.pack ?? ''), { settled: 1_000 })
  })

  test('money for an order that was confirmed by hand, at a provider that closes nothing, is reported', async (t, scene) => {
    const { store, world, provider, time } = scene
    // As EPay.
    provider.cancel = async () => undefined
    const order = await placeOrder(world, 'small')
    const confirmed = await world.orders.confirm(order.id, eur(1_000), 'cash')
    t.match(confirmed, { state: 'granted', payment: 'cash' })
    t.ok((confirmed?.nextCheckAt ?? 0) >= order.expiresAt, 'the provider is asked once more')
    await world.orders.check(order.id, 'sweep')
    t.match(await world.orders.explain(order.id), { findings: [] })
    provider.pay(order.id)
    await world.orders.receive('stand-in', provider.signNotification([{ kind: 'order', order: order.id }], (time.now += 60_000)))
    t.match(await world.orders.find(null, order.id), { state: 'granted', nextCheckAt: null })
    for (let again = 0; again < 2; again++) await world.orders.check(order.id, 'operator')
    t.match(await world.orders.explain(order.id), {
      findings: [{ code: 'paid_twice', operator: /10\.00 EUR for it too \(payment pay_/ }],
    })
    t.equal((await store.orders.listSteps(order.id)).filter(({ kind }) => kind === 'paid_again').length, 1)
    t.match(await store.orders.listPaidTwice(time.now - day, 9), [{ id: order.id }])
    t.same(await store.orders.listPaidTwice(time.now + day, 9), [])
    t.match(await store.ledger.findPack(world.account.id, confirmed?.pack ?? ''), { granted: 1_000 }, 'granted once')
  })

  test('the money that was confirmed by hand is not reported as other money', async (t, { store, world, provider }) => {
    provider.cancel = async () => undefined
    const order = await placeOrder(world, 'small')
    await world.orders.confirm(order.id, eur(1_000), 'pay_1')
    provider.pay(order.id)
    t.equal(provider.payments.get(order.id)?.payment, 'pay_2', 'the stand-in counts')
    const paid = provider.payments.get(order.id)
    if (paid !== undefined) paid.payment = 'pay_1'
    await world.orders.check(order.id, 'operator')
    t.same(
      (await store.orders.listSteps(order.id)).filter(({ kind }) => kind === 'paid_again'),
      [],
    )
  })

  test('a move of terms while a renewal is being granted stays', async (t, scene) => {
    const { store, provider, time } = scene
    const order = await pay(scene, 'pro/month')
    const from = await store.subscriptions.findNewestTerms('pro')
    const to = await store.subscriptions.ensureTerms({ ...salePlans.pro, pools: createPlan('pro', 20).pools }, noon)
    if (from === undefined) throw new Error('there are no terms')
    const create: typeof store.orders.create = async (...values) => {
      const created = await store.orders.create(...values)
      await world.subscriptions.move({ from, to, at: 'now', isDryRun: false, reason: null })
      return created
    }
    const { account } = scene.world
    const slow = { ...store, orders: { ...store.orders, create } }
    const world = createOrderWorld({ store: slow, time, account, providers: [provider] })
    provider.renew(order?.providerSubscription ?? '', (time.now += 31 * day))
    await world.orders.check(order?.id ?? '', 'sweep')
    t.match(await world.orders.list({ limit: 1 }), [{ event: 'renewal', state: 'granted' }])
    t.match(await store.subscriptions.list(account.id), [{ terms: { id: to.id } }], 'not back to those before the move')
  })

  test('the buyer on a receipt is kept for the orders that follow, until the account is deleted', async (t, scene) => {
    const { store, world, provider, time } = scene
    const order = await pay(scene, 'pro/month')
    const buyer = ['Ann Example', 'Street 1']
    t.match(await world.orders.setBuyer(order?.id ?? '', buyer), { buyer, state: 'granted' })
    t.equal((await store.orders.listSteps(order?.id ?? '')).length, 4, 'the story does not grow')
    t.match(await placeOrder(world, 'small'), { buyer })
    provider.renew(order?.providerSubscription ?? '', (time.now += 31 * day))
    await world.orders.check(order?.id ?? '', 'sweep')
    t.match(await world.orders.list({ limit: 1 }), [{ event: 'renewal', buyer }])
    await world.orders.prepareDeletion(world.account.id)
    await store.accounts.erase(world.account.id, time.now)
    for (const { buyer } of await world.orders.list({ limit: 9 })) t.same(buyer, [])
  })

  test('before a deletion the renewal ends at the provider, and open orders are cancelled', async (t, scene) => {
    const { world, provider, store, time } = scene
    const order = await pay(scene, 'pro/month')
    const open = await placeOrder(world, 'small')
    provider.beforeAnswer = () => {
      throw new PaymentProviderError('unavailable', 'no answer')
    }
    t.equal(await world.orders.prepareDeletion(world.account.id), false)
    provider.beforeAnswer = () => undefined
    t.equal(await world.orders.prepareDeletion(world.account.id), true)
    t.equal(provider.getSubscription(order?.providerSubscription ?? '').state, 'ended')
    await store.accounts.erase(world.account.id, time.now)
    const payment = provider.payments.get(open.id)
    if (payment !== undefined) payment.state = 'open'
    provider.pay(open.id)
    t.match(await world.orders.check(open.id, 'sweep'), { state: 'paid', problem: 'account_deleted' })
    t.match(await world.orders.refund(open.id, { reason: 'deleted' }), { kind: 'done' })
    t.match(await world.orders.find(null, order?.id ?? ''), { state: 'granted' }, 'receipts stay')
  })

  test('a member can keep bought packs from being spent', async (t, scene) => {
    const { store, world } = scene
    const order = await pay(scene, 'small')
    await store.ledger.grant({
      id: 'pack_given',
      account: world.account.id,
      kind: 'grant',
      pool: 'premium',
      credits: 50,
      at: noon,
      expiresAt: noon + 60 * day,
    })
    const none = { day: 0, week: 0, month: 0 }
    const take = (amount: number) => store.ledger.reserve(createReserveOrder({ amount, minAmount: amount, limits: none }))
    await store.accounts.setSpendsPacks(world.account.id, false)
    t.match(await take(51), { kind: /insufficient|elsewhere/ })
    const given = await take(50)
    t.match(given, { kind: 'held' }, 'a pack that was given')
    t.match(await store.ledger.findPack(world.account.id, order?.pack ?? ''), { reserved: 0, settled: 0 })
    await store.accounts.setSpendsPacks(world.account.id, true)
    t.match(await take(900), { kind: 'held' })
    t.match(await store.ledger.findPack(world.account.id, order?.pack ?? ''), { reserved: 900 })
  })

  test('packs are spent by their end, the one without an end last', async (t, { store, world, provider }) => {
    const ids: string[] = []
    for (const [what, currency] of [
      ['endless', 'JPY'],
      ['small', 'EUR'],
    ] as const) {
      const order = await placeOrder(world, what, { currency })
      provider.pay(order.id)
      ids.push((await world.orders.check(order.id, 'return'))?.pack ?? '')
    }
    const other = await store.ledger.grant({
      id: 'pack_given',
      account: world.account.id,
      kind: 'grant',
      pool: 'fast',
      credits: 30,
      at: noon,
      expiresAt: noon + day,
    })
    const none = { day: 0, week: 0, month: 0 }
    const held = await store.ledger.reserve(createReserveOrder({ pool: 'fast', amount: 40, minAmount: 40, limits: none }))
    t.match(held, { kind: 'held' })
    t.match(await store.ledger.findPack(world.account.id, other.id), { reserved: 30 })
    t.match(await store.ledger.findPack(world.account.id, ids[0] ?? ''), { reserved: 10 })
  })
}
