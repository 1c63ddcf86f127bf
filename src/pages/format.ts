/** Numbers, amounts and moments as a reader of the language writes them. */
import type { Language } from './language.ts'
import type { PageContext } from './page.ts'
import { interpolate } from './page.ts'
import type { Texts } from './texts/en.ts'

const locales = { en: 'en-US', zh: 'zh-CN' } as const satisfies Record<Language, string>

export function formatNumber(value: number, language: Language): string {
  return new Intl.NumberFormat(locales[language]).format(value)
}

/** `380K`, `38万`. */
export function formatCompactNumber(value: number, language: Language, digits = 2): string {
  return new Intl.NumberFormat(locales[language], { notation: 'compact', maximumSignificantDigits: digits }).format(value)
}

/** A day of a time zone's calendar. */
export function formatDate(at: number, locale: string, timeZone: string): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone }).format(at)
}

/** A price with as many decimals as it has: `$9`, `$0.435`. */
export function formatMoney(value: number, currency: string, language: Language): string {
  return new Intl.NumberFormat(locales[language], {
    style: 'currency',
    currency,
    currencyDisplay: 'narrowSymbol',
    minimumFractionDigits: 0,
    maximumFractionDigits: 6,
  }).format(value)
}

/** `1 turn`, `12 turns`. */
export function formatCount({ t, language }: PageContext, noun: keyof Texts['common']['counts'], count: number): string {
  const { [noun]: forms } = t.common.counts
  const form = new Intl.PluralRules(language).select(count) === 'one' ? forms.one : forms.other
  return interpolate(form, { count: formatNumber(count, language) })
}

/** `84%`. A share that is neither nothing nor everything is not shown as one: `<1%`, `99%`. */
export function formatPercent(share: number, language: Language): string {
  const percent = new Intl.NumberFormat(locales[language], { style: 'percent', maximumFractionDigits: 0 })
  if (share > 0 && share < 0.01) return `<${percent.format(0.01)}`
  return percent.format(share < 1 ? Math.min(share, 0.99) : share)
}

/** `in 3 hours`, `2 days ago`. */
export function formatRelativeTime({ locale, services }: PageContext, at: number): string {
  const seconds = (at - services.clock.now()) / 1000
  const size = Math.abs(seconds)
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
  if (size < 3600) return relative.format(Math.round(seconds / 60), 'minute')
  if (size < 86_400) return relative.format(Math.round(seconds / 3600), 'hour')
  return relative.format(Math.round(seconds / 86_400), 'day')
}

/** The same of what has happened, which is never in the future, even where another node's clock is ahead. */
export function formatPastTime(context: PageContext, at: number): string {
  return formatRelativeTime(context, Math.min(at, context.services.clock.now()))
}
