/** What an account has left, in SQL that any database serves. */
import type { Balance, BalanceQuery, Pack, PoolBalance } from '../membership/ledger.ts'
import { windows } from '../membership/plan.ts'
import type { Pool } from '../membership/product.ts'
import type { Database } from './database.ts'
import type { PackTable } from './schema.ts'

const pools = ['fast', 'premium'] as const satisfies readonly Pool[]

export async function balanceIn({ read }: Database, { account, at, periods, limits }: BalanceQuery): Promise<Balance> {
  const buckets = await read
    .selectFrom('bucket')
    .select(['pool', 'window', 'reserved', 'settled', 'debt'])
    .where('account', '=', account)
    .where((where) =>
      where.or(
        windows.map((window) => where.and([where('window', '=', window), where('starts_at', '=', periods[window].start)])),
      ),
    )
    .execute()
  const packs = await read
    .selectFrom('pack')
    .selectAll()
    .where('account', '=', account)
    .where('expires_at', '>', at)
    .whereRef('settled', '<', 'granted')
    .orderBy('expires_at')
    .orderBy('id')
    .execute()

  const balances = pools.flatMap((pool) =>
    windows.map((window): PoolBalance => {
      const bucket = buckets.find((candidate) => candidate.pool === pool && candidate.window === window)
      const { settled, reserved, debt } = bucket ?? { settled: 0, reserved: 0, debt: 0 }
      const limit = limits[pool][window]
      const remaining = Math.max(0, limit - reserved - (settled - debt))
      return { pool, window, limit, used: settled, reserved, remaining, debt, resetsAt: periods[window].end }
    }),
  )
  return { pools: balances, packs: packs.map(toPack) }
}

function toPack(row: PackTable): Pack {
  return {
    id: row.id,
    account: row.account,
    kind: row.kind,
    pool: row.pool,
    granted: row.granted,
    reserved: row.reserved,
    settled: row.settled,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
  }
}
