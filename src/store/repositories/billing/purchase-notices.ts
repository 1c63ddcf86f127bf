/** Emails about purchases that are to be sent. */
import type { Expression, ExpressionBuilder, Kysely, SqlBool } from 'kysely'
import type { ClaimedPurchaseNotice, PurchaseNotice, PurchaseNotices } from '../../../domain/billing/orders/purchase-notice.ts'
import type { Database } from '../../database.ts'
import type { Schema } from '../../schema/schema.ts'

const keyColumns = ['about', 'kind', 'subject'] as const

export function createPurchaseNoticeRepository({ read, write }: Database): PurchaseNotices {
  const find = (notice: Omit<PurchaseNotice, 'account'>) =>
    read.selectFrom('purchase_notice').select('sent_at').where(isNotice(notice)).executeTakeFirst()
  return {
    async record(notice, at) {
      // Almost always stored: a read without the writer shows it.
      if ((await find(notice)) === undefined) await insertNotices(write, [notice], at)
    },

    async claim({ now, leaseMs, maxPauseMs, about }) {
      for (;;) {
        let query = read
          .selectFrom('purchase_notice')
          .selectAll()
          .where('due_at', 'is not', null)
          .where((where) => where.or([where('due_at', '<=', now), where('due_at', '>', now + maxPauseMs)]))
          .orderBy('due_at')
          .limit(1)
        if (about !== undefined) query = query.where('about', '=', about)
        const dueNotice = await query.executeTakeFirst()
        if (dueNotice === undefined) return undefined
        const { account, kind, subject, created_at: createdAt, attempts } = dueNotice
        const claimedNotice = { account, about: dueNotice.about, kind, subject, createdAt, attempt: attempts + 1 }
        const updatedRow = await write
          .updateTable('purchase_notice')
          .set({ due_at: now + leaseMs, attempts: attempts + 1 })
          .where(isNotice(claimedNotice))
          .where('attempts', '=', attempts)
          .where('due_at', 'is not', null)
          .returning('attempts')
          .executeTakeFirst()
        // Otherwise another process was faster.
        if (updatedRow !== undefined) return claimedNotice
      }
    },

    async complete(notice, sentAt) {
      await write.updateTable('purchase_notice').set({ due_at: null, sent_at: sentAt }).where(isClaimed(notice)).execute()
    },

    async remove(notice) {
      await write.deleteFrom('purchase_notice').where(isClaimed(notice)).execute()
    },

    async retryAt(notice, dueAt) {
      await write.updateTable('purchase_notice').set({ due_at: dueAt }).where(isClaimed(notice)).execute()
    },

    async findSentAt(notice) {
      return (await find(notice))?.sent_at ?? null
    },

    async sweep(before) {
      await write.deleteFrom('purchase_notice').where('due_at', 'is', null).where('created_at', '<', before).execute()
    },
  }
}

/** For the transaction of the change that the notices are about. */
export async function insertNotices(db: Kysely<Schema>, notices: readonly PurchaseNotice[], at: number): Promise<void> {
  if (notices.length === 0) return
  await db
    .insertInto('purchase_notice')
    .values(
      notices.map(({ account, about, kind, subject }) => ({
        account,
        about,
        kind,
        subject,
        created_at: at,
        due_at: at,
        attempts: 0,
        sent_at: null,
      })),
    )
    .onConflict((conflict) => conflict.columns(keyColumns).doNothing())
    .execute()
}

function isNotice({ about, kind, subject }: Omit<PurchaseNotice, 'account'>) {
  return (where: ExpressionBuilder<Schema, 'purchase_notice'>): Expression<SqlBool> => where.and({ about, kind, subject })
}

/** Not taken by another process since. */
function isClaimed({ about, kind, subject, attempt }: ClaimedPurchaseNotice) {
  return (where: ExpressionBuilder<Schema, 'purchase_notice'>): Expression<SqlBool> =>
    where.and({ about, kind, subject, attempts: attempt })
}
