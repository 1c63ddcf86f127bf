/** Numbers and amounts as a reader of the language writes them. */
import type { Language } from './language.ts'

const locales = { en: 'en-US', zh: 'zh-CN' } as const satisfies Record<Language, string>

export function figure(value: number, language: Language): string {
  return new Intl.NumberFormat(locales[language]).format(value)
}

/** `380K`, `38万`. */
export function roughFigure(value: number, language: Language, digits = 2): string {
  return new Intl.NumberFormat(locales[language], { notation: 'compact', maximumSignificantDigits: digits }).format(value)
}

/** A price with as many decimals as it has: `$9`, `$0.435`. */
export function money(value: number, currency: string, language: Language): string {
  return new Intl.NumberFormat(locales[language], {
    style: 'currency',
    currency,
    currencyDisplay: 'narrowSymbol',
    minimumFractionDigits: 0,
    maximumFractionDigits: 6,
  }).format(value)
}
