/** `ledger verify` finds each way in which what is paid and what is granted can differ. */
import { join } from 'node:path'
import t from 'tap'
import { verifyBooks } from '../../../../src/domain/services/orders/verify-books.ts'
import { createOrderWorld, placeOrder } from '../../../support/payments/order-world.ts'
import { PaymentProviderStandIn } from '../../../support/payments/payment-provider-stand-in.ts'
import { addAccount, noon, toAccountId } from '../../../support/store/contract/store-contract.ts'
import { createTemporaryFolder, openStoreAt, withRawDatabase } from '../../../support/store/sqlite/support.ts'

const faults = [
  ["update sale_order set subscription = 'sub_x' where kind = 'plan'", 'a granted order for a plan has a subscription'],
  ["delete from boost_claim where id like 'pack_ord_%'", 'a granted order for a pack has a claim of its credits'],
  ["update pack set granted = granted + 1 where id like 'pack_ord_%'", 'a delivered claim of an order is a pack of its credits'],
  ["update subscription set purchase = 'ord_x'", 'a subscription that was bought has an order that was paid'],
  ["update sale_order set pack = 'pack_ord_x' where kind = 'pack'", 'a pack that was bought has an order that was paid'],
  ["update sale_order set pack = 'pack_ord_x' where kind = 'pack'", 'a claim that was bought has an order that was paid'],
  ['update sale_order set paid_amount = due - 1', 'a granted order was paid what was due'],
  ["update sale_order set paid_currency = 'USD'", 'a granted order was paid what was due'],
  ["update sale_order set state = 'paid'", 'a paid order is granted, or names why it is not'],
  ["update sale_order set state = 'expired'", 'an order that is paid is not open or closed unpaid'],
  ['update sale_order set refunded = paid_amount + 1', 'no more is refunded than was paid'],
  ["update sale_order set state = 'refunded', refunded = paid_amount", 'a plan whose last payment was refunded has ended'],
  [
    `insert into sale_order select 'ord_x', '2026-999999', account, 'again', kind, terms, "interval", pack_offer, pool, credits, days, event,
       currency, price, credit, former_subscription, due, provider, language, 'chk_x', 'pay_x', null, renews, url, instructions, state, problem,
       paid_amount, paid_currency, refunded, refund, subscription, pack, created_at, expires_at, sent_at, paid_at, granted_at, closed_at,
       next_check_at, checks, checked_at, notified_at, failure, version, buyer from sale_order where kind = 'plan'`,
    'only a renewal or a change of it pays for a subscription again',
  ],
  ["delete from order_step where kind = 'granted'", 'an order that was paid or granted has that in its story once'],
] as const

for (const [statement, rule] of faults)
  t.test(`${rule}: ${statement}`, async (t) => {
    const file = join(createTemporaryFolder(t), 'store.db')
    const store = await openStoreAt(t, file)
    await addAccount(store)
    const account = await store.accounts.find(toAccountId(1))
    if (account === undefined) throw new Error('there is no account')
    const provider = new PaymentProviderStandIn()
    const { orders, ...world } = createOrderWorld({ store, time: { now: noon }, account, providers: [provider] })
    for (const what of ['pro/month', 'small']) {
      const { id } = await placeOrder({ orders, ...world }, what)
      provider.pay(id)
      await orders.check(id, 'return')
    }
    t.same((await verifyBooks(store)).mismatches, [])
    withRawDatabase(file, (db) => {
      db.pragma('foreign_keys = off')
      const triggers = db.prepare("select name from sqlite_master where type = 'trigger' and tbl_name = 'order_step'").all()
      t.ok(triggers.length > 0)
      if (statement.includes('order_step')) t.throws(() => db.exec(statement), 'the story is sealed')
      for (const { name } of triggers as { name: string }[]) db.exec(`drop trigger "${name}"`)
      db.exec(statement)
    })
    const { ok, mismatches } = await verifyBooks(store)
    t.equal(ok, false)
    t.ok(
      mismatches.some((each) => each.rule === rule && each.account === account.id),
      JSON.stringify(mismatches),
    )
  })
