/** Requests a minute in a table of PostgreSQL, where there is no Valkey: one statement for all that is asked at once. */
import type { Clock } from '../../system/clock.ts'
import type { LimitBook } from './book.ts'
import { minuteMs, requestUnits } from './limits.ts'

/** Runs one statement as a transaction of its own, READ COMMITTED: a stricter one would refuse what merely has to wait for its turn. */
export type Query = (text: string, values: readonly unknown[]) => Promise<{ readonly rows: readonly unknown[] }>

/** By which all nodes count, in milliseconds. */
export const databaseClock = '(extract(epoch from clock_timestamp()) * 1000)::bigint'

const sweepEveryMs = minuteMs

/**
 * Subjects come in one order from every node, so that two statements wait for each other in one direction. Where a row is there, its figures and
 * the clock are read when it is locked. What is granted stays in the row for the answer, from which follows what was used before.
 */
export function limitStatement(clock = databaseClock): string {
  return `insert into limit_time as kept (subject, units, at, per_minute, granted)
select subject, least(count, per_minute) * ${requestUnits}, ${clock}, per_minute, least(count, per_minute)
from unnest($1::text[], $2::bigint[], $3::bigint[]) as asked(subject, per_minute, count) order by subject collate "C"
on conflict (subject) do update set (units, at, per_minute, granted) = (
  select before + fits * ${requestUnits}, now, excluded.per_minute, fits
  from (select ${clock} as now offset 0) as clock,
  lateral (select least(greatest(0, kept.units - greatest(0, now - kept.at) * excluded.per_minute),
    excluded.per_minute * ${requestUnits}) as before offset 0) as used,
  lateral (select least(excluded.granted, (excluded.per_minute * ${requestUnits} - before) / ${requestUnits}) as fits offset 0) as room)
returning subject, (units - granted * ${requestUnits})::float8 as before`
}

const sweepStatement = `delete from limit_time where at < ${databaseClock} - ${minuteMs}`

/** `query`'s connections are somebody else's. */
export function postgresBook(query: Query, { ticks }: Pick<Clock, 'ticks'>, statement = limitStatement()): LimitBook {
  let sweptAt = ticks()
  return {
    async take(asks) {
      const { rows } = await query(statement, [
        asks.map(({ subject }) => subject),
        asks.map(({ perMinute }) => perMinute),
        asks.map(({ count }) => count),
      ])
      const used = new Map((rows as readonly Used[]).map(({ subject, before }) => [subject, before]))
      if (ticks() - sweptAt >= sweepEveryMs) {
        sweptAt = ticks()
        // What stays this time goes the next.
        query(sweepStatement, []).catch(() => undefined)
      }
      return asks.map(({ subject }) => {
        const before = used.get(subject)
        if (before === undefined) throw new Error(`the database said nothing of ${subject}`)
        return before
      })
    },
    close() {},
  }
}

interface Used {
  readonly subject: string
  readonly before: number
}
