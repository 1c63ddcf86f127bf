/** Amounts of money in whole minor units of an ISO 4217 currency, so that sums are exact: 1200 of EUR is 12.00. */

export interface Money {
  /** Minor units; never negative. */
  readonly amount: number
  /** Three capitals. */
  readonly currency: string
}

/**
 * Currencies whose minor unit is not a hundredth, by ISO 4217. Not from `Intl`, whose data counts the digits that are customary (none for
 * IQD), while providers expect those of the standard.
 */
const minorDigitsOf: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    ['BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX', 'UYI', 'VND', 'VUV', 'XAF', 'XOF', 'XPF'].map(
      (currency) => [currency, 0],
    ),
  ),
  ...Object.fromEntries(['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND'].map((currency) => [currency, 3])),
  CLF: 4,
  UYW: 4,
}

/** Far above any price, and far below the integers that are not exact. */
export const maxMinorUnits = 1_000_000_000_000

/** Digits after the decimal point: 0 for JPY, 3 for KWD, 2 for most. */
export function getMinorDigits(currency: string): number {
  return minorDigitsOf[currency] ?? 2
}

/** A price of the configuration, such as 12.5, in minor units. @throws RangeError where it has more digits than the currency, or is no price */
export function toMoney(decimal: number, currency: string): Money {
  const exactMinorUnits = decimal * 10 ** getMinorDigits(currency)
  const amount = Math.round(exactMinorUnits)
  // A decimal fraction is not exact in binary: 1.15 × 100 is 114.99999999999999.
  const isWhole = Math.abs(exactMinorUnits - amount) <= Math.abs(exactMinorUnits) * 4 * Number.EPSILON
  if (!isWhole || amount < 0 || amount > maxMinorUnits) throw new RangeError(`${decimal} ${currency} is no amount of money`)
  return { amount, currency }
}

/** Reads `12.00EUR`, `12 EUR` or `EUR 12.00`; undefined where it is none, or has more digits than the currency. */
export function parseMoney(text: string): Money | undefined {
  const normalizedText = text.trim().toUpperCase()
  const [, digits, after] = /^(\d{1,13}(?:\.\d{1,4})?) ?([A-Z]{3})$/.exec(normalizedText) ?? []
  const [, before, others] = /^([A-Z]{3}) ?(\d{1,13}(?:\.\d{1,4})?)$/.exec(normalizedText) ?? []
  const decimal = digits ?? others
  const currency = after ?? before
  if (decimal === undefined || currency === undefined || !Intl.supportedValuesOf('currency').includes(currency)) return undefined
  const [whole = '', fraction = ''] = decimal.split('.')
  const minorDigits = getMinorDigits(currency)
  if (fraction.length > minorDigits) return undefined
  const amount = Number(whole + fraction.padEnd(minorDigits, '0'))
  return amount <= maxMinorUnits ? { amount, currency } : undefined
}

/** The amount as a decimal number with all digits of its currency: `12.00`. */
export function formatDecimal({ amount, currency }: Money): string {
  const minorDigits = getMinorDigits(currency)
  if (minorDigits === 0) return String(amount)
  const digits = String(amount).padStart(minorDigits + 1, '0')
  return `${digits.slice(0, -minorDigits)}.${digits.slice(-minorDigits)}`
}

/** For operators and logs, as `parseMoney` reads it: `12.00 EUR`. */
export function formatMoney(money: Money): string {
  return `${formatDecimal(money)} ${money.currency}`
}

/** For members: `€12.00`. The digits are those of the standard, so that the amount is the one that is charged. */
export function formatPrice(money: Money, language: 'en' | 'zh'): string {
  const minorDigits = getMinorDigits(money.currency)
  return new Intl.NumberFormat(language === 'zh' ? 'zh-CN' : 'en-US', {
    style: 'currency',
    currency: money.currency,
    currencyDisplay: 'narrowSymbol',
    minimumFractionDigits: minorDigits,
    maximumFractionDigits: minorDigits,
  }).format(money.amount / 10 ** minorDigits)
}
