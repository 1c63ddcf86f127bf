/** Credits used by day, from the buckets of days that are over. */
import type { UsedDays } from '../membership/usage.ts'
import type { Database } from './database.ts'

export function usedDaysIn({ read }: Database): UsedDays {
  return {
    async before(account, since, today) {
      const rows = await read
        .selectFrom('bucket')
        .select(['starts_at', 'pool', 'settled'])
        .where('account', '=', account)
        .where('window', '=', 'day')
        .where('starts_at', '>=', since)
        .where('starts_at', '<', today)
        .orderBy('starts_at')
        .execute()
      return rows.map(({ starts_at: startsAt, pool, settled }) => ({ startsAt, pool, used: settled }))
    },
  }
}
