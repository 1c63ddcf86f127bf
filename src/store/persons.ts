/** What is kept of persons whose accounts are gone, on SQL. */
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import type { Legacy, Persons } from '../membership/person.ts'
import type { Database } from './database.ts'
import type { Schema } from './schema.ts'

export function personsIn({ read, write }: Database): Persons {
  return {
    async use(person) {
      const rows = await read
        .selectFrom('person_use')
        .select(['pool', 'window', 'starts_at', 'ends_at', 'used'])
        .where('person', '=', person)
        .execute()
      return rows.map(({ starts_at: startsAt, ends_at: endsAt, ...use }) => ({ ...use, startsAt, endsAt }))
    },

    async sweep(at) {
      await write.deleteFrom('person_use').where('ends_at', '<=', at).execute()
    },
  }
}

/** In the transaction that forgets the account, so that neither is done without the other. */
export async function keepUse(transaction: Kysely<Schema>, { person, use }: Legacy): Promise<void> {
  for (const { pool, window, startsAt, endsAt, used } of use) {
    await transaction
      .insertInto('person_use')
      .values({ person, pool, window, starts_at: startsAt, ends_at: endsAt, used })
      .onConflict((conflict) =>
        conflict.columns(['person', 'pool', 'window', 'starts_at']).doUpdateSet({
          used: sql<number>`case when person_use.used < excluded.used then excluded.used else person_use.used end`,
        }),
      )
      .execute()
  }
}
