/** Sums of sales, and lists of all members. Conditions of partial indexes are written out, because a parameter does not match them. */
import { sql } from 'kysely'
import type { Kysely, RawBuilder, Selectable } from 'kysely'
import { parseMoney } from '../../../domain/billing/money.ts'
import type { CodeState, ListedPack, SaleLists, SaleSum } from '../../../domain/billing/sale-lists.ts'
import type { Database } from '../../database.ts'
import { usageSlotMs } from '../../ledger/usage-sum.ts'
import type { PackTable, Schema } from '../../schema/schema.ts'
import { selectCodes, toCode } from './redeem-codes.ts'
import { selectSubscriptions, toSubscription } from './subscriptions.ts'

/** The steps of an order with which money went back. */
export const isReturned = sql<boolean>`order_step.kind in ('refunded', 'refunded_at_provider', 'dispute_lost')`

const codeConditions: Readonly<Record<CodeState, (now: number) => RawBuilder<boolean>>> = {
  open: (now) => sql`revoked_at is null and uses < max_uses and (expires_at is null or expires_at > ${now})`,
  expired: (now) => sql`revoked_at is null and uses < max_uses and expires_at <= ${now}`,
  revoked: () => sql`revoked_at is not null and uses < max_uses`,
  used_up: () => sql`uses >= max_uses`,
}

export function createSaleListRepository({ kind, read }: Database): SaleLists {
  return {
    async readSums({ from, to }) {
      const salesResult = await sql<SumRow>`
        select paid_at - paid_at % ${sql.lit(usageSlotMs)} as starts_at, plan_terms.plan as plan, paid_currency as currency,
          cast(sum(paid_amount) as text) as amount
        from sale_order left join plan_terms on plan_terms.id = sale_order.terms
        where paid_at >= ${from} and paid_at < ${to}
        group by 1, 2, 3 order by 1, 2, 3`.execute(read)
      const money = kind === 'sqlite' ? sql`order_step.facts ->> 'money'` : sql`order_step.facts::jsonb ->> 'money'`
      const returnsResult = await sql<ReturnRow>`
        select order_step.at - order_step.at % ${sql.lit(usageSlotMs)} as starts_at, plan_terms.plan as plan, ${money} as money,
          cast(count(*) as text) as steps
        from order_step join sale_order on sale_order.id = order_step.sale_order
          left join plan_terms on plan_terms.id = sale_order.terms
        where ${isReturned} and order_step.at >= ${from} and order_step.at < ${to}
        group by 1, 2, 3 order by 1, 2, 3`.execute(read)
      return [...salesResult.rows.map(toSold), ...returnsResult.rows.flatMap(toReturned)].toSorted(
        (one, other) => one.startsAt - other.startsAt,
      )
    },

    async listCodes({ state, now, before, limit }) {
      let query = selectCodes(read).orderBy('redeem_code.id', 'desc').limit(limit)
      if (state !== undefined) query = query.where(codeConditions[state](now))
      if (before !== undefined) query = query.where('redeem_code.id', '<', before)
      return (await query.execute()).map(toCode)
    },

    async listPacks({ before, limit }) {
      const last = before === undefined ? undefined : await findPack(read, before)
      let query = read.selectFrom('pack').selectAll().orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit)
      if (last !== undefined) query = query.where(sql<boolean>`(created_at, id) < (${last.created_at}, ${last.id})`)
      return (await query.execute()).map(toListedPack)
    },

    async listEndingPacks({ from, to, before, limit }) {
      const last = before === undefined ? undefined : await findPack(read, before)
      let query = read
        .selectFrom('pack')
        .selectAll()
        .where('expires_at', '>', from)
        .where('expires_at', '<=', to)
        .whereRef('settled', '<', 'granted')
        .orderBy('expires_at')
        .orderBy('id')
        .limit(limit)
      if (last !== undefined) query = query.where(sql<boolean>`(expires_at, id) > (${last.expires_at}, ${last.id})`)
      return (await query.execute()).map(toListedPack)
    },

    async listSubscriptions({ terms, isWaiting, before, limit }) {
      let query = selectSubscriptions(read)
        .where('subscription.terms', '=', terms)
        .where(sql<boolean>`subscription.state <> 'ended'`)
        .where('subscription.state', 'in', isWaiting ? ['waiting'] : ['active', 'past_due', 'cancelled'])
        .orderBy('subscription.id', 'desc')
        .limit(limit)
      if (before !== undefined) query = query.where('subscription.id', '<', before)
      return (await query.execute()).map(toSubscription)
    },
  }
}

interface SumRow {
  readonly starts_at: number
  readonly plan: string | null
  readonly currency: string
  readonly amount: string
}

interface ReturnRow {
  readonly starts_at: number
  readonly plan: string | null
  readonly money: string | null
  readonly steps: string
}

function toSold({ starts_at: startsAt, plan, currency, amount }: SumRow): SaleSum {
  return { startsAt, kind: 'sold', plan, currency, amount: Number(amount) }
}

function toReturned({ starts_at: startsAt, plan, money, steps }: ReturnRow): readonly SaleSum[] {
  const returnedMoney = parseMoney(money ?? '')
  return returnedMoney === undefined
    ? []
    : [{ startsAt, kind: 'returned', plan, currency: returnedMoney.currency, amount: returnedMoney.amount * Number(steps) }]
}

function findPack(read: Kysely<Schema>, id: string) {
  return read.selectFrom('pack').select(['id', 'created_at', 'expires_at']).where('id', '=', id).executeTakeFirst()
}

function toListedPack(row: Selectable<PackTable>): ListedPack {
  const { id, account, kind, pool, granted, reserved, settled, created_at: createdAt, expires_at: expiresAt } = row
  return { id, account, kind, pool, granted, reserved, settled, createdAt, expiresAt }
}
