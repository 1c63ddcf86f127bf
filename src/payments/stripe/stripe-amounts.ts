/** Amounts as Stripe's API has them, which are minor units by ISO 4217 with some exceptions. */
import { formatMoney, getMinorDigits } from '../../domain/billing/money.ts'
import type { Money } from '../../domain/billing/money.ts'
import { PaymentProviderError } from '../../domain/billing/orders/payment-provider.ts'

/** Without minor units by ISO 4217, but with hundredths in the API, which must be 00. */
const hundredfold: ReadonlySet<string> = new Set(['ISK', 'UGX'])
/** With hundredths by ISO 4217, and whole in the API. */
const wholeUnitCurrencies: ReadonlySet<string> = new Set(['MGA'])

/** @throws PaymentProviderError for an amount that Stripe cannot charge */
export function toStripeAmount(money: Money): number {
  const { amount, currency } = money
  if (hundredfold.has(currency)) return amount * 100
  const step = wholeUnitCurrencies.has(currency) ? 100 : getMinorDigits(currency) === 3 ? 10 : 1
  if (amount % step !== 0)
    throw new PaymentProviderError(
      'misconfigured',
      `Stripe charges ${currency} in steps of ${formatMoney({ amount: step, currency })}, not ${formatMoney(money)}; round the price.`,
      'prices',
    )
  return wholeUnitCurrencies.has(currency) ? amount / 100 : amount
}

/** @throws PaymentProviderError for an amount of no whole minor units */
export function fromStripeAmount(amount: number, stripeCurrency: string): Money {
  const currency = stripeCurrency.toUpperCase()
  const minor = hundredfold.has(currency) ? amount / 100 : wholeUnitCurrencies.has(currency) ? amount * 100 : amount
  if (!Number.isSafeInteger(minor))
    throw new PaymentProviderError('unavailable', `Stripe answered with ${amount} of ${currency}, which is no amount of money.`)
  return { amount: minor, currency }
}
