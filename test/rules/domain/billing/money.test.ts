/** Amounts of money in minor units, with currencies of no, two and three decimals. */
import t from 'tap'
import {
  formatDecimal,
  formatMoney,
  formatPrice,
  getMinorDigits,
  parseMoney,
  toMoney,
} from '../../../../src/domain/billing/money.ts'

t.test('a price of the configuration is whole minor units of its currency', async (t) => {
  for (const [decimal, currency, amount] of [
    [0, 'EUR', 0],
    [12, 'EUR', 1200],
    [1.15, 'EUR', 115],
    [0.07, 'USD', 7],
    [19.99, 'USD', 1999],
    [8.29, 'USD', 829],
    [1_000_000.01, 'EUR', 100_000_001],
    [1200, 'JPY', 1200],
    [4.123, 'KWD', 4123],
    [0.001, 'BHD', 1],
  ] as const)
    t.strictSame(toMoney(decimal, currency), { amount, currency }, `${decimal} ${currency}`)
  for (const [decimal, currency] of [
    [1.155, 'EUR'],
    [12.5, 'JPY'],
    [0.0001, 'KWD'],
    [-1, 'EUR'],
    [1e12, 'EUR'],
    [Number.NaN, 'EUR'],
    [Infinity, 'EUR'],
  ] as const)
    t.throws(() => toMoney(decimal, currency), RangeError, `${decimal} ${currency}`)
})

t.test('all amounts in cents of a price are whole', async (t) => {
  for (let cents = 0; cents < 100_000; cents++) if (toMoney(cents / 100, 'USD').amount !== cents) t.fail(`${cents} cents`)
})

t.test('reads an amount with its currency, and writes it again', async (t) => {
  for (const [text, amount, written] of [
    ['12.00EUR', 1200, '12.00 EUR'],
    ['12 eur', 1200, '12.00 EUR'],
    ['EUR 12.5', 1250, '12.50 EUR'],
    ['0.05 USD', 5, '0.05 USD'],
    ['1200 JPY', 1200, '1200 JPY'],
    ['4.123 KWD', 4123, '4.123 KWD'],
    ['0.009KWD', 9, '0.009 KWD'],
  ] as const) {
    const money = parseMoney(text)
    t.equal(money?.amount, amount, text)
    t.equal(money && formatMoney(money), written, text)
  }
  for (const text of [
    '',
    '12',
    'EUR',
    '12.005 EUR',
    '1.5 JPY',
    '12,00 EUR',
    '-12 EUR',
    '12 EURO',
    '12 XQQ',
    '1e3 EUR',
    '9999999999999 EUR',
  ])
    t.equal(parseMoney(text), undefined, text)
})

t.test('shows all digits of the currency, also where fewer are customary', async (t) => {
  t.equal(formatDecimal({ amount: 5, currency: 'KWD' }), '0.005')
  t.equal(formatPrice({ amount: 1200, currency: 'EUR' }, 'en'), '€12.00')
  t.equal(formatPrice({ amount: 1200, currency: 'JPY' }, 'en'), '¥1,200')
  t.match(formatPrice({ amount: 1500, currency: 'IQD' }, 'en'), '1.500')
  t.equal(getMinorDigits('HUF'), 2)
})
