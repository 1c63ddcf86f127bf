/** The one format of times for people on a terminal: `24 Nov 07:24` in the zone of this machine, which is named once. Documents have RFC 3339. */

/** With the year where it is not the present one. Accepts RFC 3339 text or milliseconds; empty for what is no time. */
export function formatTime(value: string | number | null | undefined, language: 'en' | 'zh', now: number): string {
  const date = new Date(value ?? Number.NaN)
  if (Number.isNaN(date.getTime())) return ''
  const year = date.getFullYear()
  const isThisYear = year === new Date(now).getFullYear()
  const clock = `${padNumber(date.getHours())}:${padNumber(date.getMinutes())}`
  const day =
    language === 'zh'
      ? `${isThisYear ? '' : `${year}年`}${date.getMonth() + 1}月${date.getDate()}日`
      : `${date.getDate()} ${months[date.getMonth()] ?? ''}${isThisYear ? '' : ` ${year}`}`
  return `${day} ${clock}`
}

/** `UTC`, `UTC+1` or `UTC+5:30`, at this time. */
export function formatZone(at: number): string {
  const minutes = -new Date(at).getTimezoneOffset()
  if (minutes === 0) return 'UTC'
  const hours = Math.floor(Math.abs(minutes) / 60)
  const rest = Math.abs(minutes) % 60
  return `UTC${minutes < 0 ? '-' : '+'}${hours}${rest === 0 ? '' : `:${padNumber(rest)}`}`
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

function padNumber(value: number): string {
  return String(value).padStart(2, '0')
}
