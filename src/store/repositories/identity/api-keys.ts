/** Personal API keys. */
import type { ApiKey, ApiKeys } from '../../../domain/identity/api-key.ts'
import type { Database } from '../../database.ts'
import { recordLastUsed } from './last-used.ts'
import { ownerColumns, toAccount } from './accounts.ts'

/** All but the hash. */
const apiKeyColumns = [
  'api_key.id',
  'api_key.account',
  'api_key.name',
  'api_key.prefix',
  'api_key.last4',
  'api_key.created_at',
  'api_key.last_used_at',
  'api_key.expires_at',
  'api_key.revoked_at',
] as const

interface ApiKeyRow {
  readonly id: string
  readonly account: string
  readonly name: string
  readonly prefix: string
  readonly last4: string
  readonly created_at: number
  readonly last_used_at: number | null
  readonly expires_at: number | null
  readonly revoked_at: number | null
}

function toApiKey(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    account: row.account,
    name: row.name,
    prefix: row.prefix,
    last4: row.last4,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  }
}

export function createApiKeyRepository({ read, write }: Database): ApiKeys {
  return {
    async create(key, limit) {
      // One statement counts and inserts: concurrent requests cannot exceed the limit.
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
        .returning(apiKeyColumns)
        .executeTakeFirst()
      return row && toApiKey(row)
    },

    async findByHash(hash) {
      const row = await read
        .selectFrom('api_key')
        .innerJoin('account as owner', 'owner.id', 'api_key.account')
        .select(apiKeyColumns)
        .select(ownerColumns)
        // A subquery, because SQLite plans a join on a bound value anew each time, at seven times the cost.
        .where('api_key.id', '=', (inner) =>
          inner.selectFrom('api_key as named').select('named.id').where('named.hash', '=', hash),
        )
        .executeTakeFirst()
      if (row === undefined) return undefined
      return { key: toApiKey(row), account: toAccount({ ...row, id: row.account, created_at: row.account_created_at }) }
    },

    async list(account) {
      const rows = await read.selectFrom('api_key').select(apiKeyColumns).where('account', '=', account).orderBy('id').execute()
      return rows.map(toApiKey)
    },

    async find(id) {
      const row = await read.selectFrom('api_key').select(apiKeyColumns).where('id', '=', id).executeTakeFirst()
      return row === undefined ? undefined : toApiKey(row)
    },

    async listByPrefix(prefix, limit) {
      const keys = read.selectFrom('api_key').select(apiKeyColumns).where('prefix', '=', prefix).orderBy('id').limit(limit)
      return (await keys.execute()).map(toApiKey)
    },

    async rename(account, id, name) {
      const results = await write
        .updateTable('api_key')
        .set({ name })
        .where('id', '=', id)
        .where('account', '=', account)
        .execute()
      return results.some((result) => result.numUpdatedRows > 0n)
    },

    async revoke(account, id, at) {
      const update = write
        .updateTable('api_key')
        .set((set) => ({ revoked_at: set.fn.coalesce('revoked_at', set.val(at)) }))
        .where('id', '=', id)
      const results = await (account === undefined ? update : update.where('account', '=', account)).execute()
      return results.some((result) => result.numUpdatedRows > 0n)
    },

    recordLastUsed: (uses) => recordLastUsed(write, 'api_key', uses),
  }
}
