/** Usage that is kept for persons whose accounts were deleted. */
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import type { UsageCarryOver, CarriedUsages } from '../../../domain/billing/usage/carried-usage.ts'
import type { Database } from '../../database.ts'
import type { Schema } from '../../schema/schema.ts'

export function createCarriedUsageRepository({ read, write }: Database): CarriedUsages {
  return {
    async find(person) {
      const rows = await read
        .selectFrom('carried_usage')
        .select(['pool', 'window', 'starts_at', 'ends_at', 'used'])
        .where('person', '=', person)
        .execute()
      return rows.map(({ starts_at: startsAt, ends_at: endsAt, ...use }) => ({ ...use, startsAt, endsAt }))
    },

    async sweep(at) {
      await write.deleteFrom('carried_usage').where('ends_at', '<=', at).execute()
    },
  }
}

/** Call it in the transaction that deletes the account, so that neither happens without the other. */
export async function saveCarriedUsage(transaction: Kysely<Schema>, { person, usage }: UsageCarryOver): Promise<void> {
  for (const { pool, window, startsAt, endsAt, used } of usage) {
    await transaction
      .insertInto('carried_usage')
      .values({ person, pool, window, starts_at: startsAt, ends_at: endsAt, used })
      .onConflict((conflict) =>
        conflict.columns(['person', 'pool', 'window', 'starts_at']).doUpdateSet({
          used: sql<number>`case when carried_usage.used < excluded.used then excluded.used else carried_usage.used end`,
        }),
      )
      .execute()
  }
}
