/** Calendar periods: the day, the ISO week and the month of an instant, in one time zone. */
import type { Window } from './catalog/plan.ts'
import type { Span } from './span.ts'

/** Half-open: an instant `t` is inside when `start <= t < end`. Milliseconds since the epoch. */
export interface Period {
  readonly start: number
  readonly end: number
}

/** A period of the calendar. */
export interface CalendarPeriod extends Period {
  /** Where the following period ends. */
  readonly nextEnd: number
}

export type Periods = Readonly<Record<Window, CalendarPeriod>>

/**
 * Returns the current period, given the last one that was opened. An open period keeps the end it was opened with, even if the operator
 * changes the time zone: a new zone grants nothing twice. The next period begins at that end and then follows the calendar again. If most
 * of the calendar's own period lies in the one that has ended, it is the same day (week, month) seen from another zone, and the current
 * period is the one after it.
 */
export function resolvePeriod(now: number, last: Period | undefined, calendar: CalendarPeriod): Period {
  if (last === undefined || last.end <= calendar.start) return calendar
  if (now < last.end) return last
  const mostIsOver = last.end - calendar.start > calendar.end - last.end
  return { start: last.end, end: mostIsOver ? calendar.nextEnd : calendar.end }
}

const dayMs = 86_400_000

/** A calendar for one zone. UTC is plain arithmetic; any other zone uses the runtime's time zone tables. */
export interface Calendar {
  /** All three periods of one clock reading; returns the same object for the whole day. */
  getPeriods(now: number): Periods
  /** The start of a day named as `2027-01-31`; undefined if there is no such day. */
  getDayStart(date: string): number | undefined
  /**
   * The end of a span that begins at `start`: the same time of day that many days or months later, or the last day of a month that has no
   * such day. A time that a change of the clocks skips or repeats ends within the hour.
   */
  addSpan(start: number, span: Span): number
}

export function createCalendar(timeZone: string): Calendar {
  const offsetAt = timeZone === 'UTC' ? () => 0 : createOffsetLookup(timeZone)
  const startOfDay = timeZone === 'UTC' ? startOfUtcDay : createStartOfDay(offsetAt)
  // Every turn reads the periods, which change once a day. Each calendar has its own memo, so two calendars never mix.
  let today: Periods | undefined
  return {
    getPeriods(now) {
      if (today !== undefined && now >= today.day.start && now < today.day.end) return today
      today = computePeriods(now, offsetAt, startOfDay)
      return today
    },
    getDayStart(date) {
      // Date parsing alone turns the last of February into the third of March.
      const asUtc = new Date(`${date}T00:00:00Z`)
      if (Number.isNaN(asUtc.getTime()) || !asUtc.toISOString().startsWith(date)) return undefined
      return startOfDay(asUtc.getUTCFullYear(), asUtc.getUTCMonth(), asUtc.getUTCDate())
    },
    addSpan(start, { count, unit }) {
      if (unit === 'ms') return start + count
      const { year, month, day } = toCivilDate(start, offsetAt)
      const timeOfDay = start + offsetAt(start) - Date.UTC(year, month, day)
      const months = unit === 'd' ? month : month + count * (unit === 'y' ? 12 : 1)
      const lastDay = new Date(Date.UTC(year, months + 1, 0)).getUTCDate()
      const civilEnd = Date.UTC(year, months, unit === 'd' ? day + count : Math.min(day, lastDay)) + timeOfDay
      return civilEnd - offsetAt(civilEnd - offsetAt(civilEnd))
    },
  }
}

/** Milliseconds of midnight at the start of a civil date; month 0-11, any overflow is normalised. */
type StartOfDay = (year: number, month: number, day: number) => number

const startOfUtcDay: StartOfDay = (year, month, day) => Date.UTC(year, month, day)

/** Offset of a zone from UTC at an instant, in milliseconds. */
type OffsetAt = (instant: number) => number

function computePeriods(now: number, offsetAt: OffsetAt, startOfDay: StartOfDay): Periods {
  const { year, month, day } = toCivilDate(now, offsetAt)
  // Monday is the first day of an ISO week; 0 = Monday.
  const weekday = (new Date(Date.UTC(year, month, day)).getUTCDay() + 6) % 7
  const from = (date: number, days: number): CalendarPeriod => ({
    start: startOfDay(year, month, date),
    end: startOfDay(year, month, date + days),
    nextEnd: startOfDay(year, month, date + 2 * days),
  })
  return {
    day: from(day, 1),
    week: from(day - weekday, 7),
    month: {
      start: startOfDay(year, month, 1),
      end: startOfDay(year, month + 1, 1),
      nextEnd: startOfDay(year, month + 2, 1),
    },
  }
}

interface CivilDate {
  readonly year: number
  readonly month: number
  readonly day: number
}

function toCivilDate(now: number, offsetAt: OffsetAt): CivilDate {
  const localDate = new Date(now + offsetAt(now))
  return { year: localDate.getUTCFullYear(), month: localDate.getUTCMonth(), day: localDate.getUTCDate() }
}

/**
 * Midnight in a zone with shifting offsets. The first guess is midnight in UTC. It is corrected by the offset there and once more by the
 * offset at the corrected instant, which is right on both sides of a change. If a change skips midnight itself, the day starts at its first
 * instant.
 */
function createStartOfDay(offsetAt: OffsetAt): StartOfDay {
  return (year, month, day) => {
    const asUtc = Date.UTC(year, month, day)
    const targetDate = new Date(asUtc)
    let instant = asUtc - offsetAt(asUtc)
    instant = asUtc - offsetAt(instant)
    const date = toCivilDate(instant, offsetAt)
    if (date.day === targetDate.getUTCDate()) return instant
    // The hour before belongs to the previous day: midnight does not exist here, so the day starts where the clocks jump to.
    let low = instant
    let high = instant + dayMs / 2
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (toCivilDate(middle, offsetAt).day === targetDate.getUTCDate()) high = middle
      else low = middle
    }
    return high
  }
}

function createOffsetLookup(timeZone: string): OffsetAt {
  // Creating a formatter costs a hundred times as much as using it.
  const formatter = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  return (instant) => {
    const parts = formatter.formatToParts(instant)
    const readPart = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.find((part) => part.type === type)?.value ?? 0)
    const localMs = Date.UTC(
      readPart('year'),
      readPart('month') - 1,
      readPart('day'),
      readPart('hour'),
      readPart('minute'),
      readPart('second'),
    )
    return localMs - Math.floor(instant / 1000) * 1000
  }
}
