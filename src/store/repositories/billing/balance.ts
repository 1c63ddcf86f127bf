/** An account's remaining credits, for both databases. */
import type { Balance, BalanceQuery, Pack, PoolBalance } from '../../../domain/billing/ledger.ts'
import { resolvePeriod } from '../../../domain/billing/period.ts'
import { windows } from '../../../domain/billing/catalog/plan.ts'
import { toBucketRows } from '../../ledger/account-balance.ts'
import type { Database } from '../../database.ts'
import { pools } from '../../ledger/account-balance.ts'
import type { BucketTable, PackTable } from '../../schema/schema.ts'

export async function readBalance(
  { read, readAccountBalance }: Database,
  { account, at, periods, limits }: BalanceQuery,
): Promise<Balance> {
  const accountBalance = await readAccountBalance(account)
  const archivedBuckets = await read
    .selectFrom('bucket')
    .selectAll()
    .where('account', '=', account)
    .where((where) =>
      where.or(
        windows.map((window) =>
          where.and([where('window', '=', window), where('starts_at', '<=', at), where('ends_at', '>', periods[window].start)]),
        ),
      ),
    )
    .orderBy('starts_at', 'desc')
    .execute()
  // The balance's bucket is of the last turn's period, which may be over; the current period's bucket may be archived.
  const buckets = [...(accountBalance === undefined ? [] : toBucketRows(accountBalance)), ...archivedBuckets].filter(
    (bucket) => bucket.starts_at <= at,
  )
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
      const candidates = buckets.filter((bucket) => bucket.pool === pool && bucket.window === window)
      const runningBucket = candidates.find((bucket) => at < bucket.ends_at)
      const last =
        runningBucket ??
        candidates.reduce<BucketTable | undefined>(
          (one, other) => (one === undefined || one.starts_at < other.starts_at ? other : one),
          undefined,
        )
      const { end } = resolvePeriod(
        at,
        last === undefined ? undefined : { start: last.starts_at, end: last.ends_at },
        periods[window],
      )
      const { settled, reserved, debt } = runningBucket ?? { settled: 0, reserved: 0, debt: 0 }
      const limit = limits[pool][window]
      const remaining = Math.max(0, limit - reserved - (settled - debt))
      return { pool, window, limit, used: settled, reserved, remaining, debt, resetsAt: end }
    }),
  )
  return { pools: balances, packs: packs.map(toPack) }
}

export async function findPack({ read }: Database, account: string, id: string): Promise<Pack | undefined> {
  const row = await read.selectFrom('pack').selectAll().where('id', '=', id).where('account', '=', account).executeTakeFirst()
  return row && toPack(row)
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
