/** Numbers and moments as the reader's language writes them. */
import { commonTexts, createElement, interpolate, language, locale } from './page.ts'

const number = new Intl.NumberFormat(locale)
const instant = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' })
const plural = new Intl.PluralRules(language)

export function formatNumber(value: number): string {
  return number.format(value)
}

/** `1 turn`, `12 turns`. */
export function formatCount(noun: keyof typeof commonTexts.counts, count: number): string {
  const { [noun]: forms } = commonTexts.counts
  return interpolate(plural.select(count) === 'one' ? forms.one : forms.other, { count: formatNumber(count) })
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
