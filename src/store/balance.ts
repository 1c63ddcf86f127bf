/** What an account has left, in SQL that any database serves. */
import type { Balance, BalanceQuery, Pack, PoolBalance } from '../membership/ledger.ts'
import { type Window, windows } from '../membership/plan.ts'
import type { Pool } from '../membership/product.ts'
import type { Database } from './database.ts'
import type { BucketTable, PackTable, PurseTable } from './schema.ts'

const pools = ['fast', 'premium'] as const satisfies readonly Pool[]

export async function balanceIn({ read }: Database, { account, at, periods, limits }: BalanceQuery): Promise<Balance> {
  const purse = await read.selectFrom('purse').selectAll().where('account', '=', account).executeTakeFirst()
  const packed = await read
    .selectFrom('bucket')
    .selectAll()
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
      // The purse's bucket is of the last turn's period, which may be over; the one of the period at hand may have been put away.
      const atHand = purse?.[`${pool}_${window}_starts_at`] === periods[window].start ? bucketOf(purse, pool, window) : undefined
      const bucket = atHand ?? packed.find((candidate) => candidate.pool === pool && candidate.window === window)
      const { settled, reserved, debt } = bucket ?? { settled: 0, reserved: 0, debt: 0 }
      const limit = limits[pool][window]
      const remaining = Math.max(0, limit - reserved - (settled - debt))
      return { pool, window, limit, used: settled, reserved, remaining, debt, resetsAt: periods[window].end }
    }),
  )
  return { pools: balances, packs: packs.map(toPack) }
}

function bucketOf(purse: PurseTable, pool: Pool, window: Window): Pick<BucketTable, 'reserved' | 'settled' | 'debt'> {
  return {
    reserved: purse[`${pool}_${window}_reserved`],
    settled: purse[`${pool}_${window}_settled`],
    debt: purse[`${pool}_${window}_debt`],
  }
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
