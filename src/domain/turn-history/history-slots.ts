/** The hours and days by which turns are summed: those of the operator's time zone. */
import type { Calendar } from '../billing/period.ts'

const hourMs = 3_600_000

export interface HistorySlots {
  /** When the hour of an instant begins: counted from the beginning of its day, which may be at a half hour of other zones. */
  toHour(at: number): number
  toDay(at: number): number
  /** When the day after the day of an instant begins. */
  toNextDay(at: number): number
}

/** `calendar`: one of its own, because it keeps the day that it was asked for last. */
export function createHistorySlots(calendar: Calendar): HistorySlots {
  return {
    toHour(at) {
      const { start } = calendar.getPeriods(at).day
      return start + Math.floor((at - start) / hourMs) * hourMs
    },
    toDay: (at) => calendar.getPeriods(at).day.start,
    toNextDay: (at) => calendar.getPeriods(at).day.end,
  }
}
