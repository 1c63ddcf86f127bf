/** Terms of plans, and subscriptions. */
import { sql } from 'kysely'
import type { Kysely, Selectable } from 'kysely'
import type {
  Entitlement,
  EntitlementChange,
  Subscription,
  Subscriptions,
} from '../../../domain/billing/subscriptions/subscription.ts'
import { renewalGraceMs } from '../../../domain/billing/subscriptions/subscription-queue.ts'
import { serializePlan, toTermsId } from '../../../domain/billing/subscriptions/terms.ts'
import type { Database } from '../../database.ts'
import type { SubscriptionTable } from '../../schema/sale-schema.ts'
import type { AccountTable, Schema } from '../../schema/schema.ts'
import { toPlanTerms } from './plan-terms.ts'

export function createSubscriptionRepository({ read, write, transact }: Database): Subscriptions {
  const findNewest = (plan: string) =>
    read.selectFrom('plan_terms').selectAll().where('plan', '=', plan).orderBy('version', 'desc').limit(1).executeTakeFirst()
  return {
    async ensureTerms(plan, at) {
      const content = serializePlan(plan)
      for (;;) {
        const newestRow = await findNewest(plan.id)
        if (newestRow?.content === content) return toPlanTerms(newestRow)
        const version = (newestRow?.version ?? 0) + 1
        const row = { id: toTermsId(plan.id, version), plan: plan.id, version, content, created_at: at }
        const insertedRow = await write
          .insertInto('plan_terms')
          .values(row)
          .onConflict((conflict) => conflict.doNothing())
          .returning('id')
          .executeTakeFirst()
        // Otherwise another process has made this version a moment ago.
        if (insertedRow !== undefined) return toPlanTerms(row)
      }
    },

    async findTerms(id) {
      const row = await read.selectFrom('plan_terms').selectAll().where('id', '=', id).executeTakeFirst()
      return row && toPlanTerms(row)
    },

    async findNewestTerms(plan) {
      const row = await findNewest(plan)
      return row && toPlanTerms(row)
    },

    async listTerms() {
      const rows = await read.selectFrom('plan_terms').selectAll().orderBy('plan').orderBy('version').execute()
      const counts = await read
        .selectFrom('subscription')
        .select((select) => ['terms', 'state', select.fn.countAll<number>().as('count')])
        // Written out, because a parameter does not match the condition of the index.
        .where(sql<boolean>`state <> 'ended'`)
        .groupBy(['terms', 'state'])
        .execute()
      return rows.map((row) => {
        const count = (isWaiting: boolean): number =>
          counts
            .filter(({ terms, state }) => terms === row.id && (state === 'waiting') === isWaiting)
            .reduce((sum, { count: each }) => sum + Number(each), 0)
        return { ...toPlanTerms(row), createdAt: row.created_at, running: count(false), waiting: count(true) }
      })
    },

    list: (account, { includeEnded } = { includeEnded: false }) => listOfAccount(read, account, includeEnded),

    async find(id) {
      const row = await selectSubscriptions(read).where('subscription.id', '=', id).executeTakeFirst()
      return row && toSubscription(row)
    },

    async findEntitlement(account) {
      const row = await read.selectFrom('account').select(entitlementColumns).where('id', '=', account).executeTakeFirst()
      return row && toEntitlement(account, row, await listOfAccount(read, account, false))
    },

    async listSubscribers(terms, { after, limit }) {
      const rows = await read
        .selectFrom('subscription')
        .select('account')
        .distinct()
        .where('terms', '=', terms)
        .where('state', '!=', 'ended')
        .where('account', '>', after)
        .orderBy('account')
        .limit(limit)
        .execute()
      return rows.map(({ account }) => account)
    },

    async listPurchased({ endsBefore, endedSince, after, limit }) {
      const rows = await selectSubscriptions(read)
        .where('source', '=', 'order')
        .where('subscription.id', '>', after)
        .where((where) =>
          where.or([
            where('ended_at', '>=', endedSince),
            where.and([
              where('state', 'in', ['active', 'past_due', 'cancelled']),
              where.or([where('ends_at', '<', endsBefore), where('next_terms', 'is not', null), where('state', '=', 'past_due')]),
            ]),
          ]),
        )
        .orderBy('subscription.id')
        .limit(limit)
        .execute()
      return rows.map(toSubscription)
    },

    async listDue(now, limit) {
      const rows = await read
        .selectFrom('subscription')
        .select('account')
        .where('state', '!=', 'ended')
        .where('ends_at', '<=', now)
        // One in its grace has nothing to decide until the grace ends.
        .where((where) =>
          where.or([
            where('renewal', '!=', 'provider'),
            where('state', '!=', 'past_due'),
            where('ends_at', '<=', now - renewalGraceMs),
          ]),
        )
        .orderBy('ends_at')
        .limit(limit)
        .execute()
      return [...new Set(rows.map(({ account }) => account))]
    },

    async listWithoutTerms(plans, limit) {
      return read
        .selectFrom('account')
        .select(['id as account', 'plan'])
        .where('plan', 'in', plans)
        .where('plan_until', 'is not', null)
        .where('terms', 'is', null)
        .limit(limit)
        .execute()
    },

    change: (account, decide) =>
      transact(async (transaction) => {
        const before = await lockEntitlement(transaction, account)
        if (before === undefined) return undefined
        const change = decide(before)
        if (change !== null) await writeChange(transaction, account, before, change)
        return { before, change }
      }),
  }
}

const entitlementColumns = ['plan', 'plan_until', 'terms', 'base_plan', 'status'] as const

/**
 * For a transaction that also writes what caused the change. The write of an unchanged value makes another transaction that changes the
 * account wait or repeat, before either of them could violate a constraint.
 */
export async function lockEntitlement(transaction: Kysely<Schema>, account: string): Promise<Entitlement | undefined> {
  const row = await transaction
    .updateTable('account')
    .set((set) => ({ base_plan: set.ref('base_plan') }))
    .where('id', '=', account)
    .returning(entitlementColumns)
    .executeTakeFirst()
  return row && toEntitlement(account, row, await listOfAccount(transaction, account, false))
}

function toEntitlement(
  account: string,
  row: Pick<Selectable<AccountTable>, (typeof entitlementColumns)[number]>,
  subscriptions: readonly Subscription[],
): Entitlement {
  const { plan, plan_until: planUntil, terms, base_plan: basePlan, status } = row
  return { account, isDeleted: status === 'deleted', plan, planUntil, terms, basePlan, subscriptions }
}

/** Ended and interrupted subscriptions are written before one that begins, because only one may run. */
export async function writeChange(
  transaction: Kysely<Schema>,
  account: string,
  { subscriptions: stored }: Pick<Entitlement, 'subscriptions'>,
  { plan, planUntil, terms, basePlan, changed }: EntitlementChange,
): Promise<void> {
  const isStored = new Set(stored.map(({ id }) => id))
  const rank = ({ state }: Subscription): number => (state === 'ended' ? 0 : state === 'waiting' ? 1 : 2)
  for (const subscription of changed.toSorted((one, other) => rank(one) - rank(other))) {
    const row = toRow(subscription)
    const { source, provider } = subscription
    // Members sign in every day: what their groups gave before leaves no rows. The audit log has it.
    if (source === 'group' && !isStored.has(subscription.id))
      await transaction
        .deleteFrom('subscription')
        .where('account', '=', account)
        .where('source', '=', source)
        .where('provider', '=', provider)
        .where('state', '=', 'ended')
        .execute()
    await (isStored.has(subscription.id)
      ? transaction.updateTable('subscription').set(row).where('id', '=', subscription.id).execute()
      : transaction.insertInto('subscription').values(row).execute())
  }
  await transaction
    .updateTable('account')
    // Naming the plan records the change for other processes, also where only the terms differ.
    .set({ plan, plan_until: planUntil, terms, base_plan: basePlan })
    .where('id', '=', account)
    .execute()
}

async function listOfAccount(db: Kysely<Schema>, account: string, includeEnded: boolean): Promise<readonly Subscription[]> {
  const query = selectSubscriptions(db)
    .where('account', '=', account)
    .orderBy('subscription.created_at')
    .orderBy('subscription.id')
  const rows = await (includeEnded ? query : query.where('state', '!=', 'ended')).execute()
  return rows.map(toSubscription)
}

export function selectSubscriptions(db: Kysely<Schema>) {
  return db
    .selectFrom('subscription')
    .innerJoin('plan_terms', 'plan_terms.id', 'subscription.terms')
    .selectAll('subscription')
    .select(['plan_terms.plan', 'plan_terms.content'])
}

export function toSubscription(
  row: Selectable<SubscriptionTable> & { readonly plan: string; readonly content: string },
): Subscription {
  return {
    id: row.id,
    account: row.account,
    terms: toPlanTerms({ id: row.terms, plan: row.plan, content: row.content }),
    source: row.source,
    provider: row.provider,
    order: row.purchase,
    renewal: row.renewal,
    nextTerms: row.next_terms,
    state: row.state,
    span: row.span,
    startsAt: row.starts_at,
    endsAt: row.ends_at,
    createdAt: row.created_at,
    endedAt: row.ended_at,
  }
}

function toRow(subscription: Subscription): SubscriptionTable {
  return {
    id: subscription.id,
    account: subscription.account,
    terms: subscription.terms.id,
    source: subscription.source,
    provider: subscription.provider,
    purchase: subscription.order,
    renewal: subscription.renewal,
    next_terms: subscription.nextTerms,
    state: subscription.state,
    span: subscription.span,
    starts_at: subscription.startsAt,
    ends_at: subscription.endsAt,
    created_at: subscription.createdAt,
    ended_at: subscription.endedAt,
  }
}
