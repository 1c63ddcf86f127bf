/** The time of day in which a receiver gets only the most important reports. */

interface QuietHours {
  /** As in `22:00`. */
  readonly from: string
  readonly to: string
}

/** Whether the instant is within the hours, in this time zone; equal times mean the whole day. */
export function isQuiet({ from, to }: QuietHours, at: number, timeZone: string): boolean {
  const time = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(at)
  return from < to ? from <= time && time < to : from <= time || time < to
}
