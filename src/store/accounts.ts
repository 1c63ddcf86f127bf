/** Accounts on SQL. */
import type { Accounts } from '../membership/account.ts'
import { canonicalAddress } from '../membership/mail-address.ts'
import { accountColumns, toAccount } from './account-row.ts'
import type { Database } from './database.ts'
import type { FirstAsked } from './first-asked.ts'
import { keepUse } from './persons.ts'

export function accountsIn({ read, write, transact }: Database): Omit<Accounts, keyof FirstAsked['accounts']> {
  return {
    async create(account) {
      const email = account.email.toLowerCase()
      const row = await write
        .insertInto('account')
        .values({
          id: account.id,
          email,
          mailbox: canonicalAddress(email, true),
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

    async ofMailbox(mailbox) {
      const rows = await read
        .selectFrom('account')
        .select(accountColumns)
        .where('mailbox', '=', mailbox)
        .orderBy('created_at')
        .orderBy('id')
        .execute()
      return rows.map(toAccount)
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

    async setPlan(id, plan, until) {
      return changed(
        await write
          .updateTable('account')
          .set({ plan, plan_until: until ?? null })
          .where('id', '=', id)
          .where('status', '!=', 'deleted')
          .execute(),
      )
    },

    async endPlans(now, plan) {
      // Nearly always nothing: that is asked without troubling the writer.
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
      return changed(
        await write.updateTable('account').set({ status }).where('id', '=', id).where('status', '!=', 'deleted').execute(),
      )
    },

    forget(id, at, legacy = null) {
      return transact(async (transaction) => {
        const gone = await transaction
          .updateTable('account')
          .set({ status: 'deleted', email: null, mailbox: null, plan_until: null, password_hash: null, email_verified: 0 })
          .where('id', '=', id)
          .where('status', '!=', 'deleted')
          .execute()
        if (!changed(gone)) return false
        if (legacy !== null) await keepUse(transaction, legacy)
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

function changed(results: readonly { readonly numUpdatedRows: bigint }[]): boolean {
  return results.some((result) => result.numUpdatedRows > 0n)
}
