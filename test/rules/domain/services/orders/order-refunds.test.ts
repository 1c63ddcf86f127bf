/** What a refund counts as in the daily limit of an operator's key. */
import t from 'tap'
import { countMovedCredits } from '../../../../../src/domain/services/orders/order-refunds.ts'

const cases = [
  { title: 'a plan: its money', amount: 1_200, currency: 'USD', locked: 0, credits: 12_000_000 },
  { title: 'a pack that is worth less than its money', amount: 400, currency: 'EUR', locked: 1_000_000, credits: 4_000_000 },
  { title: 'a pack that is worth more than its money', amount: 400, currency: 'EUR', locked: 9_000_000, credits: 9_000_000 },
  { title: 'a currency without minor units', amount: 1_500, currency: 'JPY', locked: 0, credits: 1_500_000_000 },
  { title: 'a currency with three digits', amount: 1_500, currency: 'KWD', locked: 0, credits: 1_500_000 },
  { title: 'more than an exact number', amount: 1e12, currency: 'JPY', locked: 0, credits: Number.MAX_SAFE_INTEGER },
]

for (const { title, amount, currency, locked, credits } of cases)
  t.test(`a refund of ${title} counts as ${credits} credits`, async (t) => {
    t.equal(countMovedCredits({ amount, currency }, locked), credits)
  })
