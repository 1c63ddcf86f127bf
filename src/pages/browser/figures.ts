/** Numbers and moments as the reader's language writes them. */
import { element, locale } from './page.ts'

const number = new Intl.NumberFormat(locale)
const instant = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' })
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })

export function figure(value: number): string {
  return number.format(value)
}

/** A moment as the reader's clock and calendar have it. */
export function moment(value: string): HTMLTimeElement {
  return element('time', { datetime: value, class: 'nowrap' }, instant.format(new Date(value)))
}

export function day(value: string): HTMLTimeElement {
  return element('time', { datetime: value, class: 'nowrap' }, date.format(new Date(value)))
}

/** `in 3 hours`, `2 days ago`; of an instant in RFC 3339 or milliseconds. */
export function fromNow(value: string | number): string {
  const seconds = (new Date(value).getTime() - Date.now()) / 1000
  const size = Math.abs(seconds)
  if (size < 3600) return relative.format(Math.round(seconds / 60), 'minute')
  if (size < 86_400) return relative.format(Math.round(seconds / 3600), 'hour')
  return relative.format(Math.round(seconds / 86_400), 'day')
}
