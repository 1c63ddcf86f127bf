/** Orders with their stories. */
import { sql } from 'kysely'
import type { Insertable, Kysely, Selectable } from 'kysely'
import type { Money } from '../../../domain/billing/money.ts'
import type {
  Order,
  OrderFailure,
  OrderFilter,
  OrderItem,
  OrderRefund,
  Orders,
  OrderStep,
} from '../../../domain/billing/orders/order.ts'
import { parseJson } from '../../../system/parse-json.ts'
import type { Database } from '../../database.ts'
import type { OrderTable } from '../../schema/sale-schema.ts'
import type { Schema } from '../../schema/schema.ts'
import { toBoostClaimRow } from './boosts.ts'
import { toPlanTerms } from './plan-terms.ts'
import { insertNotices } from './purchase-notices.ts'
import { isReturned } from './sale-lists.ts'
import { lockEntitlement, writeChange } from './subscriptions.ts'
import { verifyOrders } from './verify-orders.ts'

export function createOrderRepository({ read, write, transact }: Database): Orders {
  const findBy = async (column: 'reference' | 'payment' | 'provider_subscription', provider: string, value: string) => {
    const row = await selectOrders(read)
      .where('provider', '=', provider)
      .where(`sale_order.${column}`, '=', value)
      .orderBy('sale_order.id')
      .limit(1)
      .executeTakeFirst()
    return row && toOrder(row)
  }
  return {
    create: (draft, steps, { maxOpen, year }) =>
      transact(async (transaction) => {
        // The lock comes before the reads, so that of requests at the same time one waits or repeats.
        if ((await lockEntitlement(transaction, draft.account)) === undefined)
          throw new Error(`there is no account ${draft.account}`)
        const storedOrder = await selectOrders(transaction)
          .where('account', '=', draft.account)
          .where('request', '=', draft.requestId)
          .executeTakeFirst()
        if (storedOrder !== undefined) return { order: toOrder(storedOrder), isNew: false }
        const { open } = await transaction
          .selectFrom('sale_order')
          .select((select) => select.fn.countAll<number>().as('open'))
          .where('account', '=', draft.account)
          .where('state', 'in', ['created', 'sent'])
          .executeTakeFirstOrThrow()
        if (Number(open) >= maxOpen) return null
        const { last } = await transaction
          .insertInto('order_number')
          .values({ year, last: 1 })
          .onConflict((conflict) => conflict.column('year').doUpdateSet({ last: sql<number>`order_number.last + 1` }))
          .returning('last')
          .executeTakeFirstOrThrow()
        const order: Order = { ...draft, number: `${year}-${String(last).padStart(6, '0')}`, version: 1 }
        await transaction.insertInto('sale_order').values(toRow(order)).execute()
        await insertSteps(transaction, order.id, steps)
        return { order, isNew: true }
      }),

    async find(id) {
      const row = await selectOrders(read).where('sale_order.id', '=', id).executeTakeFirst()
      return row && toOrder(row)
    },

    async findByNumber(number) {
      const row = await selectOrders(read).where('sale_order.number', '=', number).executeTakeFirst()
      return row && toOrder(row)
    },

    async findByRequest(account, requestId) {
      const row = await selectOrders(read).where('account', '=', account).where('request', '=', requestId).executeTakeFirst()
      return row && toOrder(row)
    },

    findByReference: (provider, reference) => findBy('reference', provider, reference),
    findByPayment: (provider, payment) => findBy('payment', provider, payment),
    findByProviderSubscription: (provider, reference) => findBy('provider_subscription', provider, reference),

    async findBySubscription(subscription) {
      const row = await selectOrders(read)
        .where('subscription', '=', subscription)
        .orderBy('sale_order.id', 'desc')
        .limit(1)
        .executeTakeFirst()
      return row && toOrder(row)
    },

    async list(filter) {
      return (await selectFiltered(read, filter).execute()).map(toOrder)
    },

    async listSteps(order) {
      const rows = await read.selectFrom('order_step').selectAll().where('sale_order', '=', order).orderBy('seq').execute()
      return rows.map(({ at, kind, actor, facts }) => ({ at, kind, by: actor, facts: parseJson(facts) as OrderStep['facts'] }))
    },

    async listDue(now, limit, maxPauseMs) {
      // Two statements, because each reads a part of the index.
      const select = (operator: '<=' | '>', at: number, count: number) =>
        selectOrders(read)
          .where('next_check_at', operator, at)
          .orderBy('next_check_at')
          .orderBy('sale_order.id')
          .limit(count)
          .execute()
      const dueRows = await select('<=', now, limit)
      const misplacedRows = dueRows.length < limit ? await select('>', now + maxPauseMs, limit - dueRows.length) : []
      return [...dueRows, ...misplacedRows].map(toOrder)
    },

    async countUngranted() {
      const row = await read
        .selectFrom('sale_order')
        .select((select) => [select.fn.countAll<number>().as('count'), select.fn.min('paid_at').as('oldest')])
        .where('state', '=', 'paid')
        .executeTakeFirst()
      return { count: Number(row?.count ?? 0), oldestPaidAt: row?.oldest == null ? null : Number(row.oldest) }
    },

    async listPaidTwice(since, limit) {
      const steps = read.selectFrom('order_step').select('sale_order').where('kind', '=', 'paid_again').where('at', '>=', since)
      const rows = await selectOrders(read)
        .where('sale_order.id', 'in', steps)
        .orderBy('sale_order.id', 'desc')
        .limit(limit)
        .execute()
      return rows.map(toOrder)
    },

    verify: (signal) => verifyOrders(read, signal),

    change: (id, decide) =>
      transact(async (transaction) => {
        const lockedOrder = await transaction
          .updateTable('sale_order')
          .set((set) => ({ version: set.ref('version') }))
          .where('id', '=', id)
          .returning('account')
          .executeTakeFirst()
        if (lockedOrder === undefined) return undefined
        const before = toOrder(await selectOrders(transaction).where('sale_order.id', '=', id).executeTakeFirstOrThrow())
        const entitlement = await lockEntitlement(transaction, lockedOrder.account)
        const change = decide(before, entitlement)
        if (change === null) return { order: before, isChanged: false }
        const { order, steps, entitlement: entitlementChange, claim, notices = [] } = change
        for (const column of ['payment', 'reference'] as const) {
          const value = order[column]
          if (value === null || value === before[column]) continue
          const other = await transaction
            .selectFrom('sale_order')
            .select('id')
            .where('provider', '=', order.provider)
            .where(column, '=', value)
            .where('id', '!=', id)
            .executeTakeFirst()
          if (other !== undefined) return `${column}_of_another_order` as const
        }
        // Before the order, which references the subscription that it granted.
        if (entitlementChange !== undefined && entitlement !== undefined)
          await writeChange(transaction, before.account, entitlement, entitlementChange)
        if (claim !== undefined)
          await transaction
            .insertInto('boost_claim')
            .values({ ...toBoostClaimRow(claim), rush: null, granted: 0 })
            .execute()
        const changedOrder: Order = { ...order, version: before.version + 1 }
        await transaction.updateTable('sale_order').set(toRow(changedOrder)).where('id', '=', id).execute()
        await insertSteps(transaction, id, steps)
        await insertNotices(transaction, notices, steps[0]?.at ?? 0)
        return { order: changedOrder, isChanged: true }
      }),

    async recordNotification(provider, { acceptedAt, refusedAt, refusal, setting }) {
      const acceptedColumns = acceptedAt === null ? {} : { accepted_at: acceptedAt }
      const refusedColumns = refusedAt === null ? {} : { refused_at: refusedAt, refusal, setting }
      await write
        .insertInto('payment_notification')
        .values({ provider, accepted_at: acceptedAt, refused_at: refusedAt, refusal, setting })
        .onConflict((conflict) => conflict.column('provider').doUpdateSet({ ...acceptedColumns, ...refusedColumns }))
        .execute()
    },

    async listNotificationRecords() {
      const rows = await read.selectFrom('payment_notification').selectAll().orderBy('provider').execute()
      return rows.map(({ provider, accepted_at: acceptedAt, refused_at: refusedAt, refusal, setting }) => ({
        provider,
        acceptedAt,
        refusedAt,
        refusal,
        setting,
      }))
    },
  }
}

async function insertSteps(transaction: Kysely<Schema>, order: string, steps: readonly OrderStep[]): Promise<void> {
  if (steps.length === 0) return
  const row = await transaction
    .selectFrom('order_step')
    .select((select) => select.fn.max('seq').as('last'))
    .where('sale_order', '=', order)
    .executeTakeFirst()
  const last = Number(row?.last ?? 0)
  await transaction
    .insertInto('order_step')
    .values(
      steps.map(({ at, kind, by, facts }, index) => ({
        sale_order: order,
        seq: last + 1 + index,
        at,
        kind,
        actor: by,
        facts: JSON.stringify(facts),
      })),
    )
    .execute()
}

function selectFiltered(db: Kysely<Schema>, { account, states, provider, paid, returned, plan, before, limit }: OrderFilter) {
  // By the index of what was paid then.
  const sortedOrders = paid === undefined ? selectOrders(db) : selectOrders(db).orderBy('paid_at', 'desc')
  let query = sortedOrders.orderBy('sale_order.id', 'desc').limit(limit)
  if (account !== undefined) query = query.where('account', '=', account)
  if (states !== undefined) query = query.where('state', 'in', states)
  if (provider !== undefined) query = query.where('provider', '=', provider)
  if (paid !== undefined) query = query.where('paid_at', '>=', paid.from).where('paid_at', '<', paid.to)
  if (returned !== undefined)
    query = query.where('sale_order.id', 'in', (from) =>
      from
        .selectFrom('order_step')
        .select('order_step.sale_order')
        .where(isReturned)
        .where('order_step.at', '>=', returned.from)
        .where('order_step.at', '<', returned.to),
    )
  if (plan !== undefined) query = plan === null ? query.where('sale_order.terms', 'is', null) : query.where('plan', '=', plan)
  if (before !== undefined)
    query =
      paid === undefined
        ? query.where('sale_order.id', '<', before)
        : query.where(
            sql<boolean>`(sale_order.paid_at, sale_order.id) < (select paid_at, id from sale_order where id = ${before})`,
          )
  return query
}

function selectOrders(db: Kysely<Schema>) {
  return db
    .selectFrom('sale_order')
    .leftJoin('plan_terms', 'plan_terms.id', 'sale_order.terms')
    .selectAll('sale_order')
    .select(['plan_terms.plan', 'plan_terms.content'])
}

type OrderRow = Selectable<OrderTable> & { readonly plan: string | null; readonly content: string | null }

function toOrder(row: OrderRow): Order {
  const { currency } = row
  return {
    id: row.id,
    number: row.number,
    account: row.account,
    requestId: row.request,
    item: toItem(row),
    event: row.event,
    price: { amount: row.price, currency },
    credit: row.credit,
    formerSubscription: row.former_subscription,
    due: { amount: row.due, currency },
    provider: row.provider,
    language: row.language,
    reference: row.reference,
    payment: row.payment,
    providerSubscription: row.provider_subscription,
    renews: row.renews === 1,
    url: row.url,
    instructions: row.instructions,
    state: row.state,
    problem: row.problem,
    paid: toPaid(row),
    refunded: row.refunded,
    refund: row.refund === null ? null : (parseJson(row.refund) as OrderRefund),
    subscription: row.subscription,
    pack: row.pack,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    sentAt: row.sent_at,
    paidAt: row.paid_at,
    grantedAt: row.granted_at,
    closedAt: row.closed_at,
    nextCheckAt: row.next_check_at,
    checks: row.checks,
    checkedAt: row.checked_at,
    notifiedAt: row.notified_at,
    failure: row.failure === null ? null : (parseJson(row.failure) as OrderFailure),
    buyer: row.buyer === null ? [] : (parseJson(row.buyer) as readonly string[]),
    version: row.version,
  }
}

function toPaid({ paid_amount: amount, paid_currency: currency }: OrderRow): Money | null {
  return amount === null || currency === null ? null : { amount, currency }
}

function toItem({ terms, plan, content, interval, pack_offer: pack, pool, credits, days }: OrderRow): OrderItem {
  if (terms !== null && plan !== null && content !== null)
    return { kind: 'plan', terms: toPlanTerms({ id: terms, plan, content }), interval: interval ?? 'month' }
  return { kind: 'pack', pack: pack ?? '', pool: pool ?? 'fast', credits: credits ?? 0, days }
}

function toRow(order: Order): Insertable<OrderTable> {
  const { item } = order
  const itemColumns =
    item.kind === 'plan'
      ? { terms: item.terms.id, interval: item.interval, pack_offer: null, pool: null, credits: null, days: null }
      : { terms: null, interval: null, pack_offer: item.pack, pool: item.pool, credits: item.credits, days: item.days }
  return {
    id: order.id,
    number: order.number,
    account: order.account,
    request: order.requestId,
    kind: item.kind,
    ...itemColumns,
    event: order.event,
    currency: order.price.currency,
    price: order.price.amount,
    credit: order.credit,
    former_subscription: order.formerSubscription,
    due: order.due.amount,
    provider: order.provider,
    language: order.language,
    reference: order.reference,
    payment: order.payment,
    provider_subscription: order.providerSubscription,
    renews: order.renews ? 1 : 0,
    url: order.url,
    instructions: order.instructions,
    state: order.state,
    problem: order.problem,
    paid_amount: order.paid?.amount ?? null,
    paid_currency: order.paid?.currency ?? null,
    refunded: order.refunded,
    refund: order.refund === null ? null : JSON.stringify(order.refund),
    subscription: order.subscription,
    pack: order.pack,
    created_at: order.createdAt,
    expires_at: order.expiresAt,
    sent_at: order.sentAt,
    paid_at: order.paidAt,
    granted_at: order.grantedAt,
    closed_at: order.closedAt,
    next_check_at: order.nextCheckAt,
    checks: order.checks,
    checked_at: order.checkedAt,
    notified_at: order.notifiedAt,
    failure: order.failure === null ? null : JSON.stringify(order.failure),
    buyer: order.buyer.length === 0 ? null : JSON.stringify(order.buyer),
    version: order.version,
  }
}
