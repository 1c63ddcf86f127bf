/** What was paid is granted once, and what was granted was paid: compares orders with subscriptions, claims and packs. */
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import type { Mismatch } from '../../../domain/billing/ledger.ts'
import { purchasedPackPrefix } from '../../../domain/billing/orders/order.ts'
import type { Schema } from '../../schema/schema.ts'

/** More mismatches add no information. */
const maxMismatches = 1000

interface Row {
  readonly account: string
  readonly id: string
}

/** Each statement returns the rows that break its rule. Packs may have been pruned after their end; claims stay. */
const rules: readonly { readonly rule: string; readonly query: string }[] = [
  {
    rule: 'a granted order for a plan has a subscription',
    query: `select o.account, o.id from sale_order o
      where o.kind = 'plan' and o.granted_at is not null
        and not exists (select 1 from subscription s where s.id = o.subscription and s.account = o.account)`,
  },
  {
    rule: 'a granted order for a pack has a claim of its credits',
    query: `select o.account, o.id from sale_order o
      where o.kind = 'pack' and o.granted_at is not null
        and not exists (
          select 1 from boost_claim c
          where c.id = o.pack and c.account = o.account and c.credits = o.credits and c.pool = o.pool)`,
  },
  {
    rule: 'a delivered claim of an order is a pack of its credits',
    query: `select o.account, o.id from sale_order o
      join boost_claim c on c.id = o.pack and c.granted = 1
      join pack p on p.id = o.pack
      where p.account <> o.account or p.granted <> o.credits or p.pool <> o.pool`,
  },
  {
    rule: 'a subscription that was bought has an order that was paid',
    query: `select s.account, s.id from subscription s
      where s.source = 'order'
        and not exists (
          select 1 from sale_order o
          where o.id = s.purchase and o.subscription = s.id and o.account = s.account and o.paid_at is not null)`,
  },
  {
    rule: 'a pack that was bought has an order that was paid',
    query: `select p.account, p.id from pack p
      where p.id >= '${purchasedPackPrefix}' and p.id < '${purchasedPackPrefix}~'
        and not exists (select 1 from sale_order o where o.pack = p.id and o.account = p.account and o.paid_at is not null)`,
  },
  {
    rule: 'a claim that was bought has an order that was paid',
    query: `select c.account, c.id from boost_claim c
      where c.id >= '${purchasedPackPrefix}' and c.id < '${purchasedPackPrefix}~'
        and not exists (select 1 from sale_order o where o.pack = c.id and o.account = c.account and o.paid_at is not null)`,
  },
  {
    rule: 'a granted order was paid what was due',
    query: `select o.account, o.id from sale_order o
      where o.granted_at is not null and (o.paid_currency <> o.currency or o.paid_amount < o.due)`,
  },
  {
    rule: 'an order that is paid is not open or closed unpaid',
    query: `select o.account, o.id from sale_order o
      where o.paid_at is not null and o.state in ('created', 'sent', 'expired', 'cancelled')`,
  },
  {
    rule: 'no more is refunded than was paid',
    query: `select o.account, o.id from sale_order o where o.refunded > coalesce(o.paid_amount, 0)`,
  },
  {
    rule: 'a plan whose last payment was refunded has ended',
    query: `select o.account, o.id from sale_order o
      join subscription s on s.id = o.subscription and s.purchase = o.id
      where o.state = 'refunded' and s.state <> 'ended'`,
  },
  {
    rule: 'only a renewal or a change of it pays for a subscription again',
    query: `select o.account, o.id from sale_order o
      where o.subscription is not null and o.provider_subscription is null
        and exists (select 1 from sale_order other where other.subscription = o.subscription and other.id < o.id)`,
  },
  {
    rule: 'a paid order is granted, or names why it is not',
    query: `select o.account, o.id from sale_order o where o.state = 'paid' and o.problem is null`,
  },
  {
    rule: 'an order that was paid or granted has that in its story once',
    query: `select o.account, o.id from sale_order o
      where (select count(*) from order_step s where s.sale_order = o.id and s.kind = 'paid')
          <> case when o.paid_at is null then 0 else 1 end
        or (select count(*) from order_step s where s.sale_order = o.id and s.kind = 'granted')
          <> case when o.granted_at is null then 0 else 1 end`,
  },
]

/** @throws if `signal` aborts it */
export async function verifyOrders(read: Kysely<Schema>, signal?: AbortSignal): Promise<readonly Mismatch[]> {
  const mismatches: Mismatch[] = []
  for (const { rule, query } of rules) {
    signal?.throwIfAborted()
    const limit = maxMismatches - mismatches.length
    if (limit <= 0) break
    const { rows } = await sql<Row>`${sql.raw(query)} limit ${limit}`.execute(read)
    for (const { account, id } of rows) mismatches.push({ rule, account, detail: id })
  }
  return mismatches
}
