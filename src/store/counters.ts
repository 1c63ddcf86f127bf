/** Counters on SQL. */
import { sql } from 'kysely'
import type { Counters } from '../membership/counters.ts'
import type { Database } from './database.ts'

export function countersIn({ write }: Database): Counters {
  return {
    async take(subject, windowMs, now) {
      const over = sql<boolean>`counter.resets_at <= ${now}`
      const row = await write
        .insertInto('counter')
        .values({ subject, count: 1, resets_at: now + windowMs })
        .onConflict((conflict) =>
          conflict.column('subject').doUpdateSet({
            count: sql<number>`case when ${over} then 1 else counter.count + 1 end`,
            resets_at: sql<number>`case when ${over} then ${now + windowMs} else counter.resets_at end`,
          }),
        )
        .returning(['count', 'resets_at'])
        .executeTakeFirstOrThrow()
      return { count: row.count, resetsAt: row.resets_at }
    },

    async giveBack(subject) {
      await write
        .updateTable('counter')
        .set((set) => ({ count: set('count', '-', 1) }))
        .where('subject', '=', subject)
        .where('count', '>', 0)
        .execute()
    },

    async sweep(at) {
      await write.deleteFrom('counter').where('resets_at', '<=', at).execute()
    },
  }
}
