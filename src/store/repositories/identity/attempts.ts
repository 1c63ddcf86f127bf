/** Counted attempts, for limits. */
import { sql } from 'kysely'
import type { AttemptLimit, Attempts } from '../../../domain/identity/limits/attempt-limits.ts'
import type { Database } from '../../database.ts'

export function createAttemptRepository({ read, write }: Database): Attempts {
  /** When the attempt that blocks the next one ends; undefined if none does. */
  const findBlockingEnd = async (subject: string, { times }: AttemptLimit, now: number): Promise<number | undefined> => {
    const blockingAttempt = await read
      .selectFrom('attempt')
      .select('ends_at')
      .where('subject', '=', subject)
      .where('ends_at', '>', now)
      .orderBy('ends_at', 'desc')
      .limit(1)
      .offset(times - 1)
      .executeTakeFirst()
    return blockingAttempt?.ends_at
  }
  return {
    async consume(subject, limit, now) {
      // One statement counts and inserts: concurrent attempts cannot exceed the limit.
      const { rows } = await sql`
        insert into attempt (subject, ends_at)
        select ${subject}, ${now + limit.withinMs}
        where (select count(*) from attempt where subject = ${subject} and ends_at > ${now}) < ${limit.times}
        returning id
      `.execute(write)
      return rows.length > 0 ? null : ((await findBlockingEnd(subject, limit, now)) ?? now)
    },

    async findFreeAt(subject, limit, now) {
      return (await findBlockingEnd(subject, limit, now)) ?? null
    },

    async restore(subject) {
      await write
        .deleteFrom('attempt')
        .where('id', '=', (newest) =>
          newest
            .selectFrom('attempt')
            .select((select) => select.fn.max('id').as('id'))
            .where('subject', '=', subject),
        )
        .execute()
    },

    async sweep(at) {
      await write.deleteFrom('attempt').where('ends_at', '<=', at).execute()
    },
  }
}
