/** Calendar periods: the day, the ISO week and the month that an instant falls in, in one time zone. */
import type { Window } from './plan.ts'

/** Half-open: an instant `t` is inside when `start <= t < end`. Milliseconds since the epoch. */
export interface Period {
  readonly start: number
  readonly end: number
}

/** A period by the calendar. */
export interface CalendarPeriod extends Period {
  /** Where the period after it ends. */
  readonly nextEnd: number
}

export type Periods = Readonly<Record<Window, CalendarPeriod>>

/**
 * The period that is at hand, given the last one that was opened. One that runs goes on to the end it was opened with, whatever the
 * operator's time zone is by now: another zone grants nothing anew. The next one begins where it ends, and then the calendar is followed
 * again: where most of the calendar's own period was in the one that has ended, that is the same day (week, month) as seen from another
 * zone, and the one after it is at hand.
 */
export function periodAt(now: number, last: Period | undefined, calendar: CalendarPeriod): Period {
  if (last === undefined || last.end <= calendar.start) return calendar
  if (now < last.end) return last
  const mostIsOver = last.end - calendar.start > calendar.end - last.end
  return { start: last.end, end: mostIsOver ? calendar.nextEnd : calendar.end }
}

const dayMs = 86_400_000

/** A calendar for one zone. UTC is plain arithmetic; any other zone asks the runtime's own tables. */
export interface Calendar {
  /** All three periods of one clock reading; the same object as long as the day lasts. */
  at(now: number): Periods
  /** When a day begins, named as `2027-01-31`; undefined for one that no calendar has. */
  startOf(date: string): number | undefined
}

export function calendarOf(timeZone: string): Calendar {
  const offsetAt = timeZone === 'UTC' ? () => 0 : offsetIn(timeZone)
  const startOfDay = timeZone === 'UTC' ? utcStart : zoneStart(offsetAt)
  // Every turn asks; the answer changes once a day. The memo is the calendar's own, so two calendars never mix.
  let today: Periods | undefined
  return {
    at(now) {
      if (today !== undefined && now >= today.day.start && now < today.day.end) return today
      today = periodsOf(now, offsetAt, startOfDay)
      return today
    },
    startOf(date) {
      // Parsing alone makes the third of March of the last of February.
      const asUtc = new Date(`${date}T00:00:00Z`)
      if (Number.isNaN(asUtc.getTime()) || !asUtc.toISOString().startsWith(date)) return undefined
      return startOfDay(asUtc.getUTCFullYear(), asUtc.getUTCMonth(), asUtc.getUTCDate())
    },
  }
}

/** Milliseconds of midnight at the beginning of a civil date; month 0-11, any overflow is normalised. */
type StartOfDay = (year: number, month: number, day: number) => number

const utcStart: StartOfDay = (year, month, day) => Date.UTC(year, month, day)

/** How far a zone's clocks are ahead of UTC at an instant, in milliseconds. */
type OffsetAt = (instant: number) => number

function periodsOf(now: number, offsetAt: OffsetAt, startOfDay: StartOfDay): Periods {
  const { year, month, day } = civilDate(now, offsetAt)
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

function civilDate(now: number, offsetAt: OffsetAt): CivilDate {
  const shifted = new Date(now + offsetAt(now))
  return { year: shifted.getUTCFullYear(), month: shifted.getUTCMonth(), day: shifted.getUTCDate() }
}

/**
 * Midnight in a zone with shifting offsets. The guess is midnight as UTC would have it; corrected once by the offset there and once
 * more by the offset at the corrected instant, which settles it on both sides of a change. Where a change skips midnight itself, the
 * first instant of that day is meant.
 */
function zoneStart(offsetAt: OffsetAt): StartOfDay {
  return (year, month, day) => {
    const asUtc = Date.UTC(year, month, day)
    const wanted = new Date(asUtc)
    let instant = asUtc - offsetAt(asUtc)
    instant = asUtc - offsetAt(instant)
    const found = civilDate(instant, offsetAt)
    if (found.day === wanted.getUTCDate()) return instant
    // The hour before was still yesterday: midnight does not exist here, so the day begins where the clocks jumped to.
    let low = instant
    let high = instant + dayMs / 2
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (civilDate(middle, offsetAt).day === wanted.getUTCDate()) high = middle
      else low = middle
    }
    return high
  }
}

function offsetIn(timeZone: string): OffsetAt {
  // Making a formatter costs a hundred times as much as using it.
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
    const read = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.find((part) => part.type === type)?.value ?? 0)
    const shown = Date.UTC(read('year'), read('month') - 1, read('day'), read('hour'), read('minute'), read('second'))
    return shown - Math.floor(instant / 1000) * 1000
  }
}
