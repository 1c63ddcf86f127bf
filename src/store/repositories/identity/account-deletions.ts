/** Deletions of accounts that wait for a payment provider. */
import type { Selectable } from 'kysely'
import type { AccountDeletions, WaitingDeletion } from '../../../domain/identity/account-deletion.ts'
import type { Database } from '../../database.ts'
import type { AccountDeletionTable } from '../../schema/membership-schema.ts'
import { transactUnlessLastOwner } from './operators.ts'

export function createAccountDeletionRepository({ read, write, transact }: Database): AccountDeletions {
  return {
    request: (account, { at, dueAt, reader }) =>
      transactUnlessLastOwner(transact, account, async (transaction) => {
        const disabledAccount = await transaction
          .updateTable('account')
          .set({ status: 'disabled' })
          .where('id', '=', account)
          .where('status', '!=', 'deleted')
          .returning('id')
          .executeTakeFirst()
        if (disabledAccount === undefined) return false
        await transaction.deleteFrom('operator_session').where('account', '=', account).execute()
        await transaction.deleteFrom('session').where('account', '=', account).execute()
        const { language, timeZone } = reader
        await transaction
          .insertInto('account_deletion')
          .values({ account, requested_at: at, due_at: dueAt, attempts: 0, language, time_zone: timeZone })
          .onConflict((conflict) => conflict.column('account').doNothing())
          .execute()
        return true
      }),

    async find(account) {
      const row = await read.selectFrom('account_deletion').selectAll().where('account', '=', account).executeTakeFirst()
      return row && toWaitingDeletion(row)
    },

    async listDue(now, limit, maxPauseMs) {
      const rows = await read
        .selectFrom('account_deletion')
        .selectAll()
        .where((where) => where.or([where('due_at', '<=', now), where('due_at', '>', now + maxPauseMs)]))
        .orderBy('due_at')
        .limit(limit)
        .execute()
      return rows.map(toWaitingDeletion)
    },

    async postpone(account, dueAt) {
      await write
        .updateTable('account_deletion')
        .set((set) => ({ due_at: dueAt, attempts: set('attempts', '+', 1) }))
        .where('account', '=', account)
        .execute()
    },

    async summarize() {
      const row = await read
        .selectFrom('account_deletion')
        .select((select) => [select.fn.countAll<number>().as('count'), select.fn.min('requested_at').as('oldest')])
        .executeTakeFirst()
      return { count: Number(row?.count ?? 0), oldestRequestedAt: row?.oldest == null ? null : Number(row.oldest) }
    },
  }
}

function toWaitingDeletion(row: Selectable<AccountDeletionTable>): WaitingDeletion {
  const { account, requested_at: requestedAt, attempts, language, time_zone: timeZone } = row
  return { account, requestedAt, attempts, reader: { language, timeZone } }
}
