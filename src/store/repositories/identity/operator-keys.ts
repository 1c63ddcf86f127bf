/** Keys of operators. */
import type { ExpressionBuilder, Selectable } from 'kysely'
import { sql } from 'kysely'
import type { OperatorKey, Operators } from '../../../domain/identity/operators/operator.ts'
import { groupRoleMs, operatorScopes } from '../../../domain/identity/operators/operator-role.ts'
import type { Database } from '../../database.ts'
import type { OperatorKeyTable } from '../../schema/operator-schema.ts'
import type { Schema } from '../../schema/schema.ts'

type OperatorKeyRepository = Pick<
  Operators,
  'createKey' | 'listKeys' | 'findKey' | 'findKeyByHash' | 'recordKeyUse' | 'revokeKey' | 'spend'
>

const maxListedKeys = 1_000

export function createOperatorKeyRepository({ read, write, transact }: Database): OperatorKeyRepository {
  return {
    createKey({ hash, ...key }, limit) {
      return transact(async (transaction) => {
        const { live } = await transaction
          .selectFrom('operator_key')
          .select((select) => select.fn.countAll<number>().as('live'))
          .where('account', '=', key.account)
          .where('revoked_at', 'is', null)
          .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', key.createdAt)]))
          .executeTakeFirstOrThrow()
        if (Number(live) >= limit) return undefined
        await transaction
          .insertInto('operator_key')
          .values({
            id: key.id,
            account: key.account,
            name: key.name,
            prefix: key.prefix,
            last4: key.last4,
            hash,
            scopes: key.scopes.join(' '),
            networks: key.networks === null ? null : key.networks.join(' '),
            daily_credits: key.dailyCredits,
            spent_day: 0,
            spent_credits: 0,
            created_at: key.createdAt,
            last_used_at: null,
            expires_at: key.expiresAt,
            revoked_at: null,
          })
          .execute()
        return { ...key, lastUsedAt: null, revokedAt: null }
      })
    },

    async listKeys(account) {
      const all = read.selectFrom('operator_key').selectAll().orderBy('id', 'desc').limit(maxListedKeys)
      return (await (account === null ? all : all.where('account', '=', account)).execute()).map(toOperatorKey)
    },

    async findKey(id) {
      const row = await read.selectFrom('operator_key').selectAll().where('id', '=', id).executeTakeFirst()
      return row && toOperatorKey(row)
    },

    async findKeyByHash(hash, now) {
      const row = await read
        .selectFrom('operator_key')
        .innerJoin('operator', 'operator.account', 'operator_key.account')
        .innerJoin('account as owner', 'owner.id', 'operator_key.account')
        .selectAll('operator_key')
        .select('operator.role')
        .where('operator_key.hash', '=', hash)
        .where('owner.status', '=', 'active')
        .where(hasEffect(now))
        .executeTakeFirst()
      return row && { key: toOperatorKey(row), role: row.role }
    },

    async recordKeyUse(id, at) {
      await write.updateTable('operator_key').set({ last_used_at: at }).where('id', '=', id).execute()
    },

    async revokeKey(id, at) {
      const updateResult = await write
        .updateTable('operator_key')
        .set((set) => ({ revoked_at: set.fn.coalesce('revoked_at', set.val(at)) }))
        .where('id', '=', id)
        .executeTakeFirst()
      return updateResult.numUpdatedRows > 0n
    },

    async spend(key, day, credits) {
      // One statement: of concurrent corrections only those that fit together pass.
      const newSpentCredits = sql<number>`case when spent_day = cast(${day} as bigint) then spent_credits else 0 end + cast(${credits} as bigint)`
      const updateResult = await write
        .updateTable('operator_key')
        .set({ spent_day: day, spent_credits: newSpentCredits })
        .where('id', '=', key)
        .where('daily_credits', '>=', newSpentCredits)
        .executeTakeFirst()
      return updateResult.numUpdatedRows > 0n
    },
  }
}

/** A role of a provider's groups lapses without a new sign-in. */
export function hasEffect(now: number) {
  return (where: ExpressionBuilder<Pick<Schema, 'operator'>, 'operator'>) =>
    where.or([where('operator.provider', 'is', null), where('operator.granted_at', '>', now - groupRoleMs)])
}

function toOperatorKey(row: Selectable<OperatorKeyTable>): OperatorKey {
  const scopes = row.scopes.split(' ')
  return {
    id: row.id,
    account: row.account,
    name: row.name,
    prefix: row.prefix,
    last4: row.last4,
    // A version before may have had scopes that no longer exist.
    scopes: operatorScopes.filter((scope) => scopes.includes(scope)),
    networks: row.networks === null ? null : row.networks.split(' '),
    dailyCredits: row.daily_credits,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  }
}
