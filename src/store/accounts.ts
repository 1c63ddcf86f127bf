/** Accounts on SQL. */
import type { Account, Accounts } from '../membership/account.ts'
import type { Database } from './database.ts'

export function accountsIn({ read, write }: Database): Accounts {
  return {
    async create(account) {
      const row = await write
        .insertInto('account')
        .values({
          id: account.id,
          email: account.email.toLowerCase(),
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
    },

    async find(idOrEmail) {
      const row = await read
        .selectFrom('account')
        .select(accountColumns)
        .where((where) => where.or([where('id', '=', idOrEmail), where('email', '=', idOrEmail.toLowerCase())]))
        .executeTakeFirst()
      return row && toAccount(row)
    },

    async findForSignIn(idOrEmail) {
      const row = await read
        .selectFrom('account')
        .select([...accountColumns, 'password_hash', 'email_verified'])
        .where((where) => where.or([where('id', '=', idOrEmail), where('email', '=', idOrEmail.toLowerCase())]))
        .executeTakeFirst()
      return row && { account: toAccount(row), passwordHash: row.password_hash, emailVerified: row.email_verified === 1 }
    },

    async setPasswordHash(id, hash) {
      return changed(
        await write
          .updateTable('account')
          .set({ password_hash: hash })
          .where('id', '=', id)
          .where('status', '!=', 'deleted')
          .execute(),
      )
    },

    async confirmAddress(id) {
      return changed(
        await write
          .updateTable('account')
          .set({ email_verified: 1, password_hash: null })
          .where('id', '=', id)
          .where('email_verified', '=', 0)
          .where('status', '!=', 'deleted')
          .execute(),
      )
    },

    async list({ after, limit }) {
      const page = read.selectFrom('account').select(accountColumns).orderBy('id').limit(limit)
      const rows = await (after === undefined ? page : page.where('id', '>', after)).execute()
      return rows.map(toAccount)
    },

    async count() {
      const { total } = await read
        .selectFrom('account')
        .select((select) => select.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow()
      return Number(total)
    },

    async byPlan() {
      const rows = await read
        .selectFrom('account')
        .select((select) => ['plan', select.fn.countAll<number>().as('accounts')])
        .where('status', '!=', 'deleted')
        .groupBy('plan')
        .orderBy('plan')
        .execute()
      return rows.map(({ plan, accounts }) => ({ plan, accounts: Number(accounts) }))
    },

    async setPlan(id, plan) {
      return changed(
        await write.updateTable('account').set({ plan }).where('id', '=', id).where('status', '!=', 'deleted').execute(),
      )
    },

    async setStatus(id, status) {
      return changed(
        await write.updateTable('account').set({ status }).where('id', '=', id).where('status', '!=', 'deleted').execute(),
      )
    },

    forget(id, at) {
      return write.transaction().execute(async (transaction) => {
        const gone = await transaction
          .updateTable('account')
          .set({ status: 'deleted', email: null, password_hash: null, email_verified: 0 })
          .where('id', '=', id)
          .where('status', '!=', 'deleted')
          .execute()
        if (!changed(gone)) return false
        await transaction.deleteFrom('image_owner').where('account', '=', id).execute()
        await transaction.deleteFrom('session').where('account', '=', id).execute()
        await transaction.deleteFrom('identity').where('account', '=', id).execute()
        await transaction.deleteFrom('invite_code').where('account', '=', id).execute()
        await transaction
          .updateTable('device_login')
          .set({ state: 'redeemed', hostname: null })
          .where('account', '=', id)
          .execute()
        // The rows stay, so that the turn log's keys can still be told apart; what a person typed does not.
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

/** What an `Account` is made of; a join that has the same columns under other names uses its own. */
export const accountColumns = ['account.id', 'account.email', 'account.plan', 'account.status', 'account.created_at'] as const

export interface AccountRow {
  readonly id: string
  readonly email: string | null
  readonly plan: string
  readonly status: Account['status']
  readonly created_at: number
}

export function toAccount(row: AccountRow): Account {
  return { id: row.id, email: row.email, plan: row.plan, status: row.status, createdAt: Number(row.created_at) }
}

function changed(results: readonly { readonly numUpdatedRows: bigint }[]): boolean {
  return results.some((result) => result.numUpdatedRows > 0n)
}
