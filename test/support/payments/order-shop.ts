/** A shop on a store in a file: orders of one account, a provider in memory that renews plans, and transfers by hand. */
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Order } from '../../../src/domain/billing/orders/order.ts'
import { verifyBooks } from '../../../src/domain/services/orders/verify-books.ts'
import { createPlan } from '../gateway/test-plans.ts'
import { addAccount, noon, toAccountId } from '../store/contract/store-contract.ts'
import { createTemporaryFolder, openStoreAt } from '../store/sqlite/support.ts'
import { createOrderWorld, placeOrder, salePlans } from './order-world.ts'
import { createManualProvider, PaymentProviderStandIn } from './payment-provider-stand-in.ts'

export const hourMs = 3_600_000
export const dayMs = 24 * hourMs
export const eur = (amount: number) => ({ amount, currency: 'EUR' })

const price = (amount: number, currency: string) => ({ amount, currency, interval: 'month' as const, multiplier: null })

export async function openOrderShop(t: Test) {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
  await addAccount(store)
  const account = await store.accounts.find(toAccountId(1))
  if (account === undefined) throw new Error('there is no account')
  const provider = new PaymentProviderStandIn()
  const time = { now: noon }
  const plans = {
    ...salePlans,
    max: createPlan('max', 100, { prices: [price(90, 'EUR'), price(95, 'USD')] }),
    ultra: createPlan('ultra', 1_000, { prices: [price(300, 'EUR')] }),
  }
  const world = createOrderWorld({ store, time, account, plans, providers: [provider, createManualProvider()] })
  const { orders, subscriptions } = world
  const expectOrder = (order: Order | undefined): Order => {
    if (order === undefined) throw new Error('there is no order')
    return order
  }
  return {
    store,
    world,
    orders,
    account,
    provider,
    time,
    plans,
    find: async (id: string): Promise<Order> => expectOrder(await orders.find(null, id)),
    /** Pays once, by a transfer that nothing renews. */
    async buy(what: string): Promise<Order> {
      const { id, due } = await placeOrder(world, what, { provider: 'manual' })
      return expectOrder(await orders.confirm(id, due))
    },
    /** Pays by the provider, which renews plans. */
    async subscribe(what: string, change: Parameters<typeof placeOrder>[2] = {}): Promise<Order> {
      const { id } = await placeOrder(world, what, change)
      provider.pay(id)
      return expectOrder(await orders.check(id, 'return'))
    },
    /** What the provider knows about an order changes. */
    async changeAtProvider(id: string, change: { readonly refunded?: number; readonly dispute?: 'open' | 'won' | 'lost' }) {
      Object.assign(provider.payments.get(id) ?? {}, change)
      return orders.check(id, 'notification')
    },
    /** Runs the periodic jobs for a time. */
    async passTime(ms: number): Promise<void> {
      for (const end = time.now + ms; time.now < end;) {
        time.now = Math.min(end, time.now + 6 * hourMs)
        await orders.sweep()
        await subscriptions.advanceDue()
      }
    },
    /** Terms, state and renewal of each subscription that has not ended. */
    listPlans: async () =>
      (await store.subscriptions.list(account.id)).map(({ terms, state, renewal }) => `${terms.plan.id} ${state} ${renewal}`),
    verify: async () => (await verifyBooks(store)).mismatches,
  }
}
