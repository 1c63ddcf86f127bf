/** The rows of the table of rules in `docs/selling.md` that are about money; `selling.test.ts` runs them with the others. */
import type { Test } from 'tap'
import type { Account } from '../../../src/domain/identity/account.ts'
import type { Plan } from '../../../src/domain/billing/catalog/plan.ts'
import type { Store } from '../../../src/domain/store.ts'
import { createOrderWorld, createRequest, placeOrder } from '../../support/payments/order-world.ts'
import type { OrderWorld } from '../../support/payments/order-world.ts'
import { createManualProvider, PaymentProviderStandIn } from '../../support/payments/payment-provider-stand-in.ts'
import { noon } from '../../support/store/contract/store-contract.ts'

const day = 86_400_000

/** A member on the free plan who has used 7 credits and has a pack of 50. */
export interface PurchaseMember {
  readonly store: Store
  readonly time: { now: number }
  readonly find: () => Promise<Account>
  /** Plan, end in days from noon, credits used today, limit of today, credits in packs. */
  readonly describe: () => Promise<unknown>
  readonly plans: Readonly<Record<string, Plan>>
}

interface Shop extends PurchaseMember {
  readonly world: OrderWorld
  readonly provider: PaymentProviderStandIn
  /** Pays once, by a transfer that nothing renews. */
  readonly buy: (what: string) => ReturnType<typeof placeOrder>
  /** Pays by the provider, which renews plans. */
  readonly subscribe: (what: string) => ReturnType<typeof placeOrder>
  readonly advanceTo: (days: number) => Promise<void>
}

type Row = (t: Test, shop: Shop) => Promise<void>

const rows: Readonly<Record<string, Row>> = {
  async 'First purchase'(t, { buy, describe }) {
    t.match(await buy('pro/month'), { event: 'first', due: { amount: 3_000 } })
    t.same(await describe(), ['pro', 31, 7, 10_000, 50])
  },
  async 'Renewal on time'(t, { subscribe, describe, provider, world, advanceTo }) {
    const order = await subscribe('pro/month')
    await advanceTo(31)
    provider.renew(order.providerSubscription ?? '', noon + 31 * day)
    await world.orders.check(order.id, 'sweep')
    t.same(await describe(), ['pro', 61, 7, 10_000, 50])
    t.match(await world.orders.list({ limit: 1 }), [{ event: 'renewal', paid: { amount: 3_000 } }])
  },
  async 'Renewal before the end'(t, { buy, describe, advanceTo }) {
    await buy('pro/month')
    await advanceTo(10)
    t.match(await buy('pro/month'), { event: 'renewal', due: { amount: 3_000 }, credit: 0 })
    t.same(await describe(), ['pro', 61, 7, 10_000, 50], 'the end moves, and nothing is reset')
  },
  async Upgrade(t, { buy, describe, advanceTo }) {
    await buy('pro/month')
    await advanceTo(10)
    const credit = Math.floor((3_000 * 21) / 31)
    t.match(await buy('max/month'), { event: 'upgrade', credit, due: { amount: 9_000 - credit } })
    t.same(await describe(), ['max', 41, 7, 100_000, 50])
    await advanceTo(41)
    t.same(await describe(), ['free', null, 7, 1_000, 50], 'the credited plan does not follow')
  },
  async 'Upgrade that would pay out'(t, { buy, world, describe, advanceTo }) {
    await buy('pro/year')
    await advanceTo(10)
    t.match(await world.orders.quote(world.account, createRequest('max/month', { provider: 'manual' })), {
      reason: 'nothing_to_pay',
    })
    t.same(await describe(), ['pro', 365, 7, 10_000, 50])
  },
  async 'Upgrade of a plan that its provider renews'(t, { subscribe, provider, world, describe, advanceTo }) {
    await subscribe('pro/month')
    await advanceTo(10)
    provider.changePrice = { amount: 4_100, currency: 'EUR' }
    t.match(await placeOrder(world, 'max/month'), { state: 'granted', due: { amount: 4_100 } })
    t.same(await describe(), ['max', 31, 7, 100_000, 50])
  },
  async Downgrade(t, { buy, describe, advanceTo }) {
    await buy('max/month')
    t.match(await buy('pro/month'), { event: 'downgrade', due: { amount: 3_000 }, credit: 0 })
    t.same(await describe(), ['max', 31, 7, 100_000, 50])
    await advanceTo(31)
    t.same(await describe(), ['pro', 61, 7, 10_000, 50])
  },
  async 'Other interval'(t, { buy, describe }) {
    await buy('pro/month')
    t.match(await buy('pro/year'), { event: 'interval', due: { amount: 30_000 } })
    t.same(await describe(), ['pro', 31 + 365, 7, 10_000, 50])
  },
  async 'Renewal cancelled'(t, { subscribe, world, describe, advanceTo }) {
    await subscribe('pro/month')
    t.equal(await world.orders.cancelRenewal(world.account.id), 'cancelled')
    t.same(await describe(), ['pro', 31, 7, 10_000, 50])
    await advanceTo(31)
    t.same(await describe(), ['free', null, 7, 1_000, 50])
  },
  async 'Failed payment and grace'(t, { subscribe, provider, world, describe, advanceTo }) {
    const order = await subscribe('pro/month')
    provider.getSubscription(order.providerSubscription ?? '').state = 'past_due'
    await advanceTo(32)
    await world.orders.check(order.id, 'sweep')
    t.match(await describe(), ['pro'])
    await advanceTo(38)
    t.same(await describe(), ['free', null, 7, 1_000, 50])
  },
  async 'Pack bought'(t, { buy, describe }) {
    t.match(await buy('small'), { due: { amount: 1_000 } })
    t.same(await describe(), ['free', null, 7, 1_000, 1_050])
  },
  async 'Refund of a plan'(t, { subscribe, provider, world, describe }) {
    const order = await subscribe('pro/month')
    t.match(await world.orders.refund(order.id, { reason: 'asked' }), { kind: 'done', order: { refunded: 3_000 } })
    t.same(await describe(), ['free', null, 7, 1_000, 50])
    t.equal(provider.getSubscription(order.providerSubscription ?? '').state, 'ended')
  },
  async 'Refund of a pack'(t, { subscribe, store, world, describe }) {
    const order = await subscribe('small')
    const { account, pack } = order
    await store.ledger.changePack({ id: 'spent', account, pack: pack ?? '', credits: -400, reason: 'stands for turns', at: noon })
    t.match(await world.orders.refund(order.id, { reason: 'asked' }), { kind: 'done', order: { refunded: 600 } })
    t.same(await describe(), ['free', null, 7, 1_000, 50])
  },
  async Dispute(t, { subscribe, provider, world, describe }) {
    const order = await subscribe('small')
    const dispute = async (state: 'open' | 'lost') => {
      Object.assign(provider.payments.get(order.id) ?? {}, { dispute: state })
      return world.orders.check(order.id, 'notification')
    }
    t.match(await dispute('open'), { state: 'disputed' })
    t.same(await describe(), ['free', null, 7, 1_000, 50], 'the credits of the pack are locked')
    t.match(await dispute('lost'), { state: 'refunded', refunded: 1_000 })
    t.same(await describe(), ['free', null, 7, 1_000, 50])
  },
}

/** The same rows for a member without a shop. */
export const purchaseRows: Readonly<Record<string, (t: Test, member: PurchaseMember) => Promise<void>>> = Object.fromEntries(
  Object.entries(rows).map(([event, run]) => [event, async (t: Test, member: PurchaseMember) => run(t, await openShop(member))]),
)

async function openShop(member: PurchaseMember): Promise<Shop> {
  const { store, time, plans } = member
  const provider = new PaymentProviderStandIn()
  const account = await member.find()
  const world = createOrderWorld({ store, time, account, plans, providers: [provider, createManualProvider()] })
  return {
    ...member,
    world,
    provider,
    async buy(what) {
      const order = await placeOrder(world, what, { provider: 'manual' })
      return (await world.orders.confirm(order.id, order.due)) ?? order
    },
    async subscribe(what) {
      const order = await placeOrder(world, what)
      provider.pay(order.id)
      return (await world.orders.check(order.id, 'return')) ?? order
    },
    async advanceTo(days) {
      time.now = noon + days * day
      await world.subscriptions.advanceDue()
    },
  }
}
