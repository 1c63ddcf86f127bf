/** Numbers and amounts as a reader of the language writes them. */
import type { Language } from './language.ts'

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
