/** Personal API keys on SQL. */
import { sql } from 'kysely'
import type { ApiKeys } from '../membership/api-key.ts'
import { keyColumns, toApiKey } from './api-key-row.ts'
import type { Database } from './database.ts'
import type { FirstAsked } from './first-asked.ts'

/** A statement may carry only so many parameters; a long list of uses is written in slices. */
const usesPerStatement = 200

export function apiKeysIn({ read, write }: Database): Omit<ApiKeys, keyof FirstAsked['keys']> {
  return {
    async create(key, limit) {
      // Counted and inserted by one statement: two requests at once can never both take the last place.
      const row = await write
        .insertInto('api_key')
        .columns(['id', 'account', 'name', 'prefix', 'last4', 'hash', 'created_at', 'expires_at'])
        .expression((from) =>
          from
            .selectFrom('account')
            .select((select) => [
              select.val(key.id).as('id'),
              'account.id as account',
              select.val(key.name).as('name'),
              select.val(key.prefix).as('prefix'),
              select.val(key.last4).as('last4'),
              select.val(key.hash).as('hash'),
              select.val(key.createdAt).as('created_at'),
              select.val(key.expiresAt).as('expires_at'),
            ])
            .where('account.id', '=', key.account)
            .where('account.status', '!=', 'deleted')
            .where(
              (live) =>
                live
                  .selectFrom('api_key')
                  .select((select) => select.fn.countAll<number>().as('live'))
                  .where('api_key.account', '=', key.account)
                  .where('revoked_at', 'is', null)
                  .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', key.createdAt)])),
              '<',
              limit,
            ),
        )
        .returning(keyColumns)
        .executeTakeFirst()
      return row && toApiKey(row)
    },

    async list(account) {
      const rows = await read.selectFrom('api_key').select(keyColumns).where('account', '=', account).orderBy('id').execute()
      return rows.map(toApiKey)
    },

    async find(id) {
      const row = await read.selectFrom('api_key').select(keyColumns).where('id', '=', id).executeTakeFirst()
      return row === undefined ? undefined : toApiKey(row)
    },

    async revoke(account, id, at) {
      const update = write
        .updateTable('api_key')
        .set((set) => ({ revoked_at: set.fn.coalesce('revoked_at', set.val(at)) }))
        .where('id', '=', id)
      const results = await (account === undefined ? update : update.where('account', '=', account)).execute()
      return results.some((result) => result.numUpdatedRows > 0n)
    },

    async touch(uses) {
      const all = [...uses]
      for (let start = 0; start < all.length; start += usesPerStatement) {
        const rows = all.slice(start, start + usesPerStatement).map(([id, at]) => sql`(${id}, cast(${at} as bigint))`)
        // Uses may arrive out of order from several processes; the latest one stays.
        await sql`
          update api_key set last_used_at = used.column2
          from (values ${sql.join(rows)}) as used
          where api_key.id = used.column1 and coalesce(api_key.last_used_at, 0) < used.column2
        `.execute(write)
      }
    },
  }
}
