/** Decides which backups are kept. */

interface Dated {
  readonly at: number
}

export interface KeepRules {
  readonly days: number
  readonly weeks: number
  readonly months: number
}

const dayMs = 86_400_000
/** 1970-01-05, a Monday. */
const firstMondayMs = 4 * dayMs

/**
 * The backups that are no longer kept, oldest first: all of the last 24 hours stay, and the newest one of each of the last days, weeks
 * and months, the current ones included. The newest of all stays however old it is.
 */
export function selectExpired<Backup extends Dated>(backups: readonly Backup[], keep: KeepRules, now: number): readonly Backup[] {
  const newestFirst = backups.toSorted((one, other) => other.at - one.at)
  const keptBackups = new Set(newestFirst.filter(({ at }, index) => index === 0 || at > now - dayMs))
  for (const [count, toPeriod] of [
    [keep.days, toDay],
    [keep.weeks, toWeek],
    [keep.months, toMonth],
  ] as const) {
    const seenPeriods = new Set<number>()
    for (const backup of newestFirst) {
      const period = toPeriod(backup.at)
      if (period <= toPeriod(now) - count || seenPeriods.has(period)) continue
      seenPeriods.add(period)
      keptBackups.add(backup)
    }
  }
  return newestFirst.filter((backup) => !keptBackups.has(backup)).toReversed()
}

/** After how many days at most a backup is deleted, while backups are written every `every` milliseconds: each of them deletes old ones. */
export function findLongestKeepDays({ days, weeks, months }: KeepRules, every: number): number {
  return Math.max(days, weeks * 7, months * 31) + Math.ceil(every / dayMs)
}

function toDay(at: number): number {
  return Math.floor(at / dayMs)
}

function toWeek(at: number): number {
  return Math.floor((at - firstMondayMs) / (7 * dayMs))
}

function toMonth(at: number): number {
  const date = new Date(at)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}
