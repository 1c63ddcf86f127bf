import t from 'tap'
import { computeMessageCredits, estimateMessages, estimatePoolMessages } from '../../../src/config/message-estimate.ts'

/** Prices as shipped: 0.042 and 0.084 dollars a million tokens for light models, 0.10875 and 0.2175 for flagship ones. */
const prices = {
  light: { input: 0.14, cachedInput: null, output: 0.28, discountPercent: 70 },
  flagship: { input: 0.435, cachedInput: null, output: 0.87, discountPercent: 75 },
}

t.test('a message of 3000 tokens in and 1000 out costs its tokens at the price after the discount', async (t) => {
  t.equal(computeMessageCredits({ prices }, 'fast'), 3000 * 0.042 + 1000 * 0.084)
  t.equal(computeMessageCredits({ prices }, 'premium'), 3000 * 0.10875 + 1000 * 0.2175)
})

t.test('estimates are rounded down to two digits', async (t) => {
  const cases = [
    [0, 0],
    [543, 0],
    [544, 1],
    [5_000, 9],
    [54_900, 100],
    [400_000, 730],
    [90_000_000, 160_000],
  ] as const
  for (const [credits, messages] of cases) t.equal(estimateMessages({ prices }, credits, 'premium'), messages, `${credits}`)
  t.same(estimatePoolMessages({ prices }, { day: 20_000, week: 80_000, month: 200_000 }, 'fast'), {
    day: 95,
    week: 380,
    month: 950,
  })
})

t.test('models that cost nothing have no estimate', async (t) => {
  const free = { prices: { ...prices, light: { ...prices.light, discountPercent: 100 } } }
  t.equal(estimateMessages(free, 20_000, 'fast'), null)
  t.equal(estimateMessages(free, 20_000, 'premium'), 36)
})
