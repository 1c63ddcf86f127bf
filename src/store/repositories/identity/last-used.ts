/** Writing when keys and sessions were last used. */
import type { Kysely } from 'kysely'
import { sql } from 'kysely'
import type { Schema } from '../../schema/schema.ts'

/** A statement takes a limited number of parameters, so a long list is written in parts. */
const maxUsesPerStatement = 200

/** Uses can arrive out of order from several processes; the latest one stays. */
export async function recordLastUsed(
  write: Kysely<Schema>,
  table: 'api_key' | 'session',
  uses: ReadonlyMap<string, number>,
): Promise<void> {
  const all = [...uses]
  for (let start = 0; start < all.length; start += maxUsesPerStatement) {
    const rows = all.slice(start, start + maxUsesPerStatement).map(([id, at]) => sql`(${id}, cast(${at} as bigint))`)
    await sql`
      update ${sql.table(table)} set last_used_at = used.column2
      from (values ${sql.join(rows)}) as used
      where ${sql.ref(`${table}.id`)} = used.column1 and coalesce(${sql.ref(`${table}.last_used_at`)}, 0) < used.column2
    `.execute(write)
  }
}
