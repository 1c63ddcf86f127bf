/** A full disk while orders are granted: each is whole afterwards, and granted once. */
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import type { Order } from '../../../../../src/domain/billing/orders/order.ts'
import { verifyBooks } from '../../../../../src/domain/services/orders/verify-books.ts'
import { createOrderWorld, placeOrder } from '../../../../support/payments/order-world.ts'
import { PaymentProviderStandIn } from '../../../../support/payments/payment-provider-stand-in.ts'
import { addAccount, noon, toAccountId } from '../../../../support/store/contract/store-contract.ts'
import { createTemporaryFolder, openStoreAt } from '../../../../support/store/sqlite/support.ts'

t.test('orders that are paid while the disk is full are granted once there is room', async (t) => {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
  const time = { now: noon }
  const provider = new PaymentProviderStandIn()
  const worlds = []
  for (let index = 1; index <= 8; index++) {
    await addAccount(store, index)
    const account = await store.accounts.find(toAccountId(index))
    if (account !== undefined) worlds.push(createOrderWorld({ store, time, account, providers: [provider] }))
  }
  const [world] = worlds
  if (world === undefined) throw new Error('there is no account')
  const orders: Order[] = []
  for (const each of worlds) for (const what of ['pro/month', 'small', 'small']) orders.push(await placeOrder(each, what))
  for (const { id } of orders) provider.pay(id)
  // SQLite does not lower the limit below the pages in use, so the first changes may still fit.
  await sql`pragma max_page_count = 1`.execute(store.db.write)
  let refused = 0
  for (const { id } of orders) await world.orders.check(id, 'return').catch(() => (refused += 1))
  await world.orders.sweep().catch(() => (refused += 1))
  t.ok(refused > 0, 'the disk is full')
  const granted = (await store.orders.list({ limit: 100, states: ['granted'] })).length
  t.ok(granted < orders.length, `${granted} of ${orders.length} were granted`)

  await sql`pragma max_page_count = 1000000`.execute(store.db.write)
  time.now += 7 * 3_600_000
  await world.orders.sweep()
  for (const { id } of orders) t.match(await world.orders.find(null, id), { state: 'granted' })
  for (const { account } of worlds) t.equal((await store.subscriptions.list(account.id)).length, 1)
  for (const claim of await store.boosts.listUndelivered(time.now, 100)) await store.ledger.grant(claim)
  t.match(await verifyBooks(store), { mismatches: [] })
  const receipts = []
  const claim = () => store.purchaseNotices.claim({ now: time.now, leaseMs: 600_000, maxPauseMs: 3_600_000 })
  for (let notice = await claim(); notice !== undefined; notice = await claim()) receipts.push(notice.about)
  t.same(receipts.toSorted(), orders.map(({ id }) => id).toSorted(), 'each has its receipt')
})
