/** A moment as an operator types it: `2026-11-29`, `2026-11-29 14:05`, with a zone behind it or in the service's. */
import { createCalendar } from '../../../../domain/billing/period.ts'

export type ParsedTime =
  | { readonly kind: 'good'; readonly at: number }
  | { readonly kind: 'no_time' }
  | { readonly kind: 'no_zone'; readonly zone: string }

const pattern = /^(\d{4}-\d\d-\d\d)(?:(?:T|\s+)(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{3}))?)?)?\s*([a-z+-][\w+/:-]{0,63})?$/i

const minutesOfDay = 24 * 60

/** A time of day that a change of the clocks skips or repeats is within an hour of it. */
export function parseTime(text: string, ownZone: string): ParsedTime {
  const [, date = '', hours, minutes = '0', seconds = '0', ms = '0', namedZone] = pattern.exec(text) ?? []
  const zone = namedZone === undefined ? ownZone : /^z$/i.test(namedZone) ? 'UTC' : namedZone
  if (date < '1970' || Number(hours ?? 0) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return { kind: 'no_time' }
  const clock = createClockOf(zone)
  if (clock === undefined) return { kind: 'no_zone', zone }
  const day = createCalendar(zone).getDayStart(date)
  if (day === undefined) return { kind: 'no_time' }
  if (hours === undefined) return { kind: 'good', at: day }
  const typedMinuteOfDay = Number(hours) * 60 + Number(minutes)
  const at = day + typedMinuteOfDay * 60_000 + Number(seconds) * 1000 + Number(ms)
  // The clocks may have changed since midnight: by less than half a day, so the difference of the times of day tells how far.
  const [, shownHours, shownMinutes] = /(\d+):(\d+)/.exec(clock.format(at)) ?? []
  const clockMinuteOfDay = Number(shownHours) * 60 + Number(shownMinutes)
  const change = ((typedMinuteOfDay - clockMinuteOfDay + 1.5 * minutesOfDay) % minutesOfDay) - minutesOfDay / 2
  return { kind: 'good', at: at + change * 60_000 }
}

function createClockOf(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
