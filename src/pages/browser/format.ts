/** Numbers and moments as the reader's language writes them. */
import { commonTexts, createElement, interpolate, language, locale } from './page.ts'

const number = new Intl.NumberFormat(locale)
const instant = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 })
const compact = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 })
const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' })
const plural = new Intl.PluralRules(language)
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })

export function formatNumber(value: number): string {
  return number.format(value)
}

/** `1 turn`, `12 turns`. */
export function formatCount(noun: keyof typeof commonTexts.counts, count: number): string {
  const { [noun]: forms } = commonTexts.counts
  return interpolate(plural.select(count) === 'one' ? forms.one : forms.other, { count: formatNumber(count) })
}

/** `84 %`; a small share is not shown as none. */
export function formatPercent(share: number): string {
  return percent.format(share > 0 ? Math.max(share, 0.01) : 0)
}

/** `1.2M`, `38万`. */
export function formatCompact(value: number): string {
  return compact.format(value)
}

/** An IPv6 address may break after each colon, because it is wider than a phone. Empty where the address is not known. */
export function renderAddress(address: string | null): HTMLElement {
  const parts = (address ?? '').split(/(?<=:)/).flatMap((part, at) => (at === 0 ? [part] : [createElement('wbr'), part]))
  return createElement('code', { class: 'address' }, ...parts)
}

/** A moment as the reader's clock and calendar have it. */
export function formatInstant(value: string | number): string {
  return instant.format(new Date(value))
}

export function renderTimestamp(value: string): HTMLTimeElement {
  return createElement('time', { datetime: value, class: 'nowrap' }, formatInstant(value))
}

export function formatDate(value: string): string {
  return date.format(new Date(value))
}

/** `in 3 hours`, `2 days ago`; of an instant in RFC 3339 or milliseconds. */
export function formatRelativeTime(value: string | number): string {
  const seconds = (new Date(value).getTime() - Date.now()) / 1000
  const size = Math.abs(seconds)
  if (size < 3600) return relative.format(Math.round(seconds / 60), 'minute')
  if (size < 86_400) return relative.format(Math.round(seconds / 3600), 'hour')
  return relative.format(Math.round(seconds / 86_400), 'day')
}

/** The same of what has happened, which is never in the future, even where the reader's clock is behind. */
export function formatPastTime(value: string | number): string {
  return formatRelativeTime(Math.min(new Date(value).getTime(), Date.now()))
}

/** The same, in one line of a table. */
export function renderPastTime(value: string): HTMLTimeElement {
  return createElement('time', { datetime: value, class: 'nowrap' }, formatPastTime(value))
}
