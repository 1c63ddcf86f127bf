/** Credits used by day, from the buckets of days: those put away, and the last one in the purse. */
import type { UsedDays } from '../membership/usage.ts'
import { bucketsIn } from './buckets.ts'
import type { Database } from './database.ts'

export function usedDaysIn({ read, purseOf }: Database): UsedDays {
  return {
    async since(account, since) {
      const away = await read
        .selectFrom('bucket')
        .selectAll()
        .where('account', '=', account)
        .where('window', '=', 'day')
        .where('ends_at', '>', since)
        .orderBy('starts_at')
        .execute()
      const purse = await purseOf(account)
      const last =
        purse === undefined ? [] : bucketsIn(purse).filter(({ window, ends_at: end }) => window === 'day' && end > since)
      return [...away, ...last].map(({ pool, settled, ...day }) => ({
        period: { start: day.starts_at, end: day.ends_at },
        pool,
        used: settled,
      }))
    },
  }
}
