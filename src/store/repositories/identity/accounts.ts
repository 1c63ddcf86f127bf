/** Accounts. */
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import type { Account, Accounts, NewAccount } from '../../../domain/identity/account.ts'
import { canonicalizeEmail, isSameMailbox } from '../../../domain/identity/email/email-address.ts'
import type { Database } from '../../database.ts'
import type { Schema } from '../../schema/schema.ts'
import { saveCarriedUsage } from '../billing/carried-usage.ts'
import { toPlanTerms } from '../billing/plan-terms.ts'
import { endOperatorCredentials, transactUnlessLastOwner } from './operators.ts'

/**
 * The terms in effect. An older version that gives an account another plan leaves the terms of the one before, which do not count then. A
 * subquery, so that accounts without terms cost nothing.
 */
const selectTerms = (account: 'account' | 'owner') =>
  sql<string | null>`(
    select content from plan_terms where plan_terms.id = ${sql.ref(`${account}.terms`)} and plan_terms.plan = ${sql.ref(`${account}.plan`)}
  )`.as('terms_content')

/** The columns of an `Account`. */
export const accountColumns = [
  'account.id',
  'account.email',
  'account.plan',
  'account.plan_until',
  'account.terms',
  selectTerms('account'),
  'account.status',
  'account.created_at',
] as const

/** The same of a joined account, without the id. */
export const ownerColumns = [
  'owner.email',
  'owner.plan',
  'owner.plan_until',
  'owner.terms',
  selectTerms('owner'),
  'owner.status',
  'owner.created_at as account_created_at',
] as const

interface AccountRow {
  readonly id: string
  readonly email: string | null
  readonly plan: string
  readonly plan_until: number | null
  readonly terms: string | null
  readonly terms_content: string | null
  readonly status: Account['status']
  readonly created_at: number
}

export function toAccount(row: AccountRow): Account {
  const { id, email, plan, plan_until: planUntil, terms: termsId, terms_content: content, status, created_at: createdAt } = row
  const terms = termsId === null || content === null ? null : toPlanTerms({ id: termsId, plan, content })
  return { id, email, plan, planUntil, terms, status, createdAt: Number(createdAt) }
}

export function createAccountRepository({ read, write, transact }: Database): Accounts {
  return {
    async count() {
      const row = await read
        .selectFrom('account')
        .select((select) => select.fn.countAll<number>().as('total'))
        .executeTakeFirst()
      return Number(row?.total ?? 0)
    },

    async countByPlan() {
      const rows = await read
        .selectFrom('account')
        .select((select) => ['plan', select.fn.countAll<number>().as('accounts')])
        .where('status', '!=', 'deleted')
        .where('terms', 'is', null)
        .groupBy('plan')
        .orderBy('plan')
        .execute()
      return rows.map(({ plan, accounts }) => ({ plan, accounts: Number(accounts) }))
    },

    async create(account, { onePerMailbox } = { onePerMailbox: false }) {
      if (!onePerMailbox) return insertAccount(write, account)
      const address = account.email.toLowerCase()
      return transact(async (transaction) => {
        const aliases = await listByCanonicalEmail(transaction, canonicalizeEmail(address, true))
        const isTaken = aliases.some(({ email }) => email !== null && isSameMailbox(email, address))
        return isTaken ? undefined : insertAccount(transaction, account)
      })
    },

    async find(idOrEmail) {
      const row = await read
        .selectFrom('account')
        .select(accountColumns)
        .where((where) => where.or([where('id', '=', idOrEmail), where('email', '=', idOrEmail.toLowerCase())]))
        .executeTakeFirst()
      return row && toAccount(row)
    },

    findByCanonicalEmail: (email) => listByCanonicalEmail(read, email),

    async findForSignIn(idOrEmail) {
      const row = await read
        .selectFrom('account')
        .select([...accountColumns, 'password_hash', 'email_verified'])
        .where((where) => where.or([where('id', '=', idOrEmail), where('email', '=', idOrEmail.toLowerCase())]))
        .executeTakeFirst()
      return row && { account: toAccount(row), passwordHash: row.password_hash, emailVerified: row.email_verified === 1 }
    },

    async setPasswordHash(id, hash) {
      return hasUpdated(
        await write
          .updateTable('account')
          .set({ password_hash: hash })
          .where('id', '=', id)
          .where('status', '!=', 'deleted')
          .execute(),
      )
    },

    async confirmEmail(id) {
      return hasUpdated(
        await write
          .updateTable('account')
          .set({ email_verified: 1, password_hash: null })
          .where('id', '=', id)
          .where('email_verified', '=', 0)
          .where('status', '!=', 'deleted')
          .execute(),
      )
    },

    setEmail(id, email, { onePerMailbox, carryOver }) {
      const address = email.toLowerCase()
      const canonicalEmail = canonicalizeEmail(address, true)
      return transact(async (transaction) => {
        const aliases = await listByCanonicalEmail(transaction, canonicalEmail)
        const isTaken = aliases.some(
          (other) =>
            other.id !== id &&
            (other.email === address || (onePerMailbox && other.email !== null && isSameMailbox(other.email, address))),
        )
        if (isTaken) return false
        const updateResults = await transaction
          .updateTable('account')
          .set({ email: address, canonical_email: canonicalEmail, email_verified: 1 })
          .where('id', '=', id)
          .where('status', '!=', 'deleted')
          .execute()
        if (!hasUpdated(updateResults)) return false
        if (carryOver !== null) await saveCarriedUsage(transaction, carryOver)
        return true
      })
    },

    async list({ after, limit }) {
      const page = read.selectFrom('account').select(accountColumns).orderBy('id').limit(limit)
      const rows = await (after === undefined ? page : page.where('id', '>', after)).execute()
      return rows.map(toAccount)
    },

    async setPlan(id, plan, until) {
      return hasUpdated(
        await write
          .updateTable('account')
          .set({ plan, plan_until: until ?? null, terms: null, base_plan: null })
          .where('id', '=', id)
          .where('status', '!=', 'deleted')
          .execute(),
      )
    },

    async readSpendsPacks(id) {
      const row = await read.selectFrom('account').select('spends_packs').where('id', '=', id).executeTakeFirst()
      return row?.spends_packs !== 0
    },

    async setSpendsPacks(id, spendsPacks) {
      await write
        .updateTable('account')
        .set({ spends_packs: spendsPacks ? 1 : 0 })
        .where('id', '=', id)
        .execute()
    },

    async endExpiredPlans(now, plan) {
      // Almost always none: a read without the writer shows it.
      const dueAccounts = await read
        .selectFrom('account')
        .select('id')
        .where('plan_until', '<=', now)
        .where('terms', 'is', null)
        .limit(1)
        .execute()
      if (dueAccounts.length === 0) return []
      const rows = await write
        .updateTable('account')
        .set({ plan, plan_until: null })
        .where('plan_until', '<=', now)
        .where('terms', 'is', null)
        .where('status', '!=', 'deleted')
        .returning('id')
        .execute()
      return rows.map(({ id }) => id)
    },

    async setStatus(id, status) {
      const update = async (db: Kysely<Schema>): Promise<'changed' | 'unchanged' | undefined> => {
        const statusUpdate = db
          .updateTable('account')
          .set({ status })
          .where('id', '=', id)
          .where('status', 'not in', ['deleted', status])
        if (hasUpdated(await statusUpdate.execute())) return 'changed'
        const same = db.selectFrom('account').select('id').where('id', '=', id).where('status', '=', status)
        return (await same.executeTakeFirst()) === undefined ? undefined : 'unchanged'
      }
      if (status === 'active')
        return transact(async (transaction) => {
          await transaction.deleteFrom('account_deletion').where('account', '=', id).execute()
          return update(transaction)
        })
      return transactUnlessLastOwner(transact, id, async (transaction) => {
        await transaction.deleteFrom('operator_session').where('account', '=', id).execute()
        return update(transaction)
      })
    },

    erase(id, at, legacy = null) {
      return transactUnlessLastOwner(transact, id, async (transaction) => {
        const erasedAccount = await transaction
          .selectFrom('account')
          .select('canonical_email')
          .where('id', '=', id)
          .executeTakeFirst()
        const updateResults = await transaction
          .updateTable('account')
          .set({
            status: 'deleted',
            email: null,
            canonical_email: null,
            plan_until: null,
            terms: null,
            base_plan: null,
            password_hash: null,
            email_verified: 0,
          })
          .where('id', '=', id)
          .where('status', '!=', 'deleted')
          .execute()
        if (!hasUpdated(updateResults)) return false
        if (legacy !== null) await saveCarriedUsage(transaction, legacy)
        await transaction
          .updateTable('subscription')
          .set({ state: 'ended', ended_at: at })
          .where('account', '=', id)
          .where('state', '!=', 'ended')
          .execute()
        // Orders stay as receipts; how they could have been paid, and who bought, does not.
        await transaction
          .updateTable('sale_order')
          .set({ url: null, instructions: null, buyer: null })
          .where('account', '=', id)
          .execute()
        await transaction.deleteFrom('purchase_notice').where('account', '=', id).execute()
        await transaction.deleteFrom('account_deletion').where('account', '=', id).execute()
        // Codes that were sent to the mailbox, which name it.
        if (erasedAccount?.canonical_email != null)
          await transaction
            .deleteFrom('email_verification')
            .where('canonical_email', '=', erasedAccount.canonical_email)
            .execute()
        await transaction.deleteFrom('image_owner').where('account', '=', id).execute()
        await transaction.deleteFrom('session').where('account', '=', id).execute()
        await endOperatorCredentials(transaction, id, at)
        await transaction.deleteFrom('operator').where('account', '=', id).execute()
        await transaction.deleteFrom('second_factor').where('account', '=', id).execute()
        await transaction.deleteFrom('recovery_code').where('account', '=', id).execute()
        await transaction.deleteFrom('passkey').where('account', '=', id).execute()
        await transaction.deleteFrom('identity').where('account', '=', id).execute()
        await transaction.deleteFrom('invite_code').where('account', '=', id).execute()
        await transaction.deleteFrom('usage_alert_subscription').where('account', '=', id).execute()
        await transaction.deleteFrom('usage_alert').where('account', '=', id).execute()
        await transaction.deleteFrom('device_login').where('account', '=', id).execute()
        const events = transaction.selectFrom('notification_event').select('id').where('account', '=', id)
        await transaction.deleteFrom('notification_delivery').where('event', 'in', events).execute()
        await transaction.deleteFrom('notification_event').where('account', '=', id).execute()
        // The rows stay, so that the keys in the turn log can still be told apart; the names that the member typed do not.
        await transaction
          .updateTable('api_key')
          .set((set) => ({ name: '', revoked_at: set.fn.coalesce('revoked_at', set.val(at)) }))
          .where('account', '=', id)
          .execute()
        return true
      })
    },
  }
}

async function insertAccount(db: Kysely<Schema>, account: NewAccount): Promise<Account | undefined> {
  const email = account.email.toLowerCase()
  const row = await db
    .insertInto('account')
    .values({
      id: account.id,
      email,
      canonical_email: canonicalizeEmail(email, true),
      plan: account.plan,
      status: 'active',
      password_hash: account.passwordHash,
      email_verified: account.emailVerified ? 1 : 0,
      created_at: account.at,
    })
    .onConflict((conflict) => conflict.column('email').doNothing())
    .returning(accountColumns)
    .executeTakeFirst()
  return row && toAccount(row)
}

async function listByCanonicalEmail(db: Kysely<Schema>, canonicalEmail: string): Promise<readonly Account[]> {
  const rows = await db
    .selectFrom('account')
    .select(accountColumns)
    .where('canonical_email', '=', canonicalEmail)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.map(toAccount)
}

function hasUpdated(results: readonly { readonly numUpdatedRows: bigint }[]): boolean {
  return results.some((result) => result.numUpdatedRows > 0n)
}
