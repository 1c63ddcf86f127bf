/** Credits used per day, from the day buckets: archived ones, and the last one in the balance. */
import type { DailyUsages } from '../../../domain/billing/usage/usage.ts'
import { toBucketRows } from '../../ledger/account-balance.ts'
import type { Database } from '../../database.ts'

export function createDailyUsageRepository({ read, readAccountBalance }: Database): DailyUsages {
  return {
    async listSince(account, since) {
      const archivedBuckets = await read
        .selectFrom('bucket')
        .selectAll()
        .where('account', '=', account)
        .where('window', '=', 'day')
        .where('ends_at', '>', since)
        .orderBy('starts_at')
        .execute()
      const balance = await readAccountBalance(account)
      const current =
        balance === undefined ? [] : toBucketRows(balance).filter(({ window, ends_at: end }) => window === 'day' && end > since)
      return [...archivedBuckets, ...current].map(({ pool, settled, ...day }) => ({
        period: { start: day.starts_at, end: day.ends_at },
        pool,
        used: settled,
      }))
    },
  }
}
