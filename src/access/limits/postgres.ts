/** Requests per minute in a PostgreSQL table, if there is no Valkey: one statement for all concurrent requests. */
import type { Clock } from '../../system/clock.ts'
import type { RateLimitStore } from './rate-limit-store.ts'
import { minuteMs, requestUnits } from './limits.ts'

/** Runs one statement as its own transaction, READ COMMITTED: a stricter isolation level would reject statements that only need to wait for a lock. */
export type RunQuery = (text: string, values: readonly unknown[]) => Promise<{ readonly rows: readonly unknown[] }>

/** The clock by which all nodes count, in milliseconds. */
export const databaseClock = '(extract(epoch from clock_timestamp()) * 1000)::bigint'

const sweepEveryMs = minuteMs

/**
 * Every node sends subjects in the same order, so that two statements never wait for each other in both directions. The statement reads an
 * existing row's numbers and the clock once the row is locked. The row keeps the granted count for the answer, from which the previous usage
 * follows.
 */
export function buildLimitStatement(clock = databaseClock): string {
  return `insert into limit_time as kept (subject, units, at, per_minute, granted)
select subject, greatest(0, least(count, per_minute) * ${requestUnits}), ${clock}, per_minute, least(count, per_minute)
from unnest($1::text[], $2::bigint[], $3::bigint[]) as requested(subject, per_minute, count) order by subject collate "C"
on conflict (subject) do update set (units, at, per_minute, granted) = (
  select greatest(0, before + fits * ${requestUnits}), now, excluded.per_minute, fits
  from (select ${clock} as now offset 0) as clock,
  lateral (select least(greatest(0, kept.units - greatest(0, now - kept.at) * excluded.per_minute),
    excluded.per_minute * ${requestUnits}) as before offset 0) as used,
  lateral (select least(excluded.granted, (excluded.per_minute * ${requestUnits} - before) / ${requestUnits}) as fits offset 0) as room)
returning subject, (units - granted * ${requestUnits})::float8 as before`
}

const sweepStatement = `delete from limit_time where at < ${databaseClock} - ${minuteMs}`

/** The caller owns the connections behind `runQuery`. */
export function createPostgresRateLimitStore(
  runQuery: RunQuery,
  { monotonicMs }: Pick<Clock, 'monotonicMs'>,
  statement = buildLimitStatement(),
): RateLimitStore {
  let sweptAt = monotonicMs()
  return {
    async consume(requests) {
      const { rows } = await runQuery(statement, [
        requests.map(({ subject }) => subject),
        requests.map(({ perMinute }) => perMinute),
        requests.map(({ count }) => count),
      ])
      const usedUnits = new Map((rows as readonly UsedRow[]).map(({ subject, before }) => [subject, before]))
      if (monotonicMs() - sweptAt >= sweepEveryMs) {
        sweptAt = monotonicMs()
        // Rows that a failed sweep leaves are deleted by the next.
        runQuery(sweepStatement, []).catch(() => undefined)
      }
      return requests.map(({ subject }) => {
        const before = usedUnits.get(subject)
        if (before === undefined) throw new Error(`the database returned no row for ${subject}`)
        return before
      })
    },
    close() {},
  }
}

interface UsedRow {
  readonly subject: string
  readonly before: number
}
