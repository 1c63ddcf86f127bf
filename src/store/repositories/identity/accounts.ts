/** Accounts. */
import type { Kysely } from 'kysely'
import type { Account, Accounts, NewAccount } from '../../../domain/identity/account.ts'
import { canonicalizeEmail, isSameMailbox } from '../../../domain/identity/email/email-address.ts'
import type { Database } from '../../database.ts'
import type { Schema } from '../../schema/schema.ts'
import { saveCarriedUsage } from '../billing/carried-usage.ts'

/** The columns of an `Account`. A join that has these names twice uses its own list. */
export const accountColumns = [
  'account.id',
  'account.email',
  'account.plan',
  'account.plan_until',
  'account.status',
  'account.created_at',
] as const

interface AccountRow {
  readonly id: string
  readonly email: string | null
  readonly plan: string
  readonly plan_until: number | null
  readonly status: Account['status']
  readonly created_at: number
}

export function toAccount(row: AccountRow): Account {
  const { id, email, plan, plan_until: planUntil, status, created_at: createdAt } = row
  return { id, email, plan, planUntil, status, createdAt: Number(createdAt) }
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
        const updated = await transaction
          .updateTable('account')
          .set({ email: address, canonical_email: canonicalEmail, email_verified: 1 })
          .where('id', '=', id)
          .where('status', '!=', 'deleted')
          .execute()
        if (!hasUpdated(updated)) return false
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
          .set({ plan, plan_until: until ?? null })
          .where('id', '=', id)
          .where('status', '!=', 'deleted')
          .execute(),
      )
    },

    async endExpiredPlans(now, plan) {
      // Almost always none: a read without the writer shows it.
      const due = await read.selectFrom('account').select('id').where('plan_until', '<=', now).limit(1).execute()
      if (due.length === 0) return []
      const rows = await write
        .updateTable('account')
        .set({ plan, plan_until: null })
        .where('plan_until', '<=', now)
        .where('status', '!=', 'deleted')
        .returning('id')
        .execute()
      return rows.map(({ id }) => id)
    },

    async setStatus(id, status) {
      return hasUpdated(
        await write.updateTable('account').set({ status }).where('id', '=', id).where('status', '!=', 'deleted').execute(),
      )
    },

    erase(id, at, legacy = null) {
      return transact(async (transaction) => {
        const erased = await transaction.selectFrom('account').select('canonical_email').where('id', '=', id).executeTakeFirst()
        const updated = await transaction
          .updateTable('account')
          .set({
            status: 'deleted',
            email: null,
            canonical_email: null,
            plan_until: null,
            password_hash: null,
            email_verified: 0,
          })
          .where('id', '=', id)
          .where('status', '!=', 'deleted')
          .execute()
        if (!hasUpdated(updated)) return false
        if (legacy !== null) await saveCarriedUsage(transaction, legacy)
        // Codes that were sent to the mailbox, which name it.
        if (erased?.canonical_email != null)
          await transaction.deleteFrom('email_verification').where('canonical_email', '=', erased.canonical_email).execute()
        await transaction.deleteFrom('image_owner').where('account', '=', id).execute()
        await transaction.deleteFrom('session').where('account', '=', id).execute()
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
