/** Counters on SQL. */
import { sql } from 'kysely'
import type { Counters } from '../membership/counters.ts'
import type { Database } from './database.ts'

export function countersIn({ read, write }: Database): Counters {
  return {
    async take(subject, { times, withinMs }, now) {
      // Counted and inserted by one statement: any number of tries at once are still so few.
      const { rows } = await sql`
        insert into attempt (subject, ends_at)
        select ${subject}, ${now + withinMs}
        where (select count(*) from attempt where subject = ${subject} and ends_at > ${now}) < ${times}
        returning id
      `.execute(write)
      if (rows.length > 0) return null
      const inTheWay = await read
        .selectFrom('attempt')
        .select('ends_at')
        .where('subject', '=', subject)
        .where('ends_at', '>', now)
        .orderBy('ends_at', 'desc')
        .limit(1)
        .offset(times - 1)
        .executeTakeFirst()
      return inTheWay?.ends_at ?? now
    },

    async giveBack(subject) {
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
