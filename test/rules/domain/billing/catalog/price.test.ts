import t from 'tap'
import type { Price } from '../../../../../src/domain/billing/catalog/price.ts'
import { computeAffordableOutputTokens, computeCredits } from '../../../../../src/domain/billing/catalog/price.ts'

const fast: Price = { input: 140, output: 280, discountPercent: 70 }
const premium: Price = { input: 435, output: 870, discountPercent: 75 }

const cachedPrice: Price = { input: 3000, cachedInput: 300, output: 15_000, discountPercent: 50 }

/** The same price in big integers; the unit is a hundredth of a nano-dollar. */
function exactly(input: number, output: number, price: Price): bigint {
  const exact =
    (BigInt(input) * BigInt(price.input) + BigInt(output) * BigInt(price.output)) * BigInt(100 - price.discountPercent)
  return (exact + 99_999n) / 100_000n
}

t.test('a turn costs tokens times discounted list price, rounded up to a whole credit', async (t) => {
  const rows: readonly (readonly [input: number, output: number, price: Price, credits: number])[] = [
    // A million tokens of each at 0.14 and 0.28 dollars, 70 % off: 42 000 and 84 000 credits.
    [1_000_000, 0, fast, 42_000],
    [0, 1_000_000, fast, 84_000],
    [1_000_000, 1_000_000, premium, 326_250],
    [0, 0, premium, 0],
    [1, 0, premium, 1],
    [1, 1, fast, 1],
    [1000, 1000, fast, 126],
    [1001, 1000, fast, 127],
    [10, 10, { ...premium, discountPercent: 100 }, 0],
    [1000, 0, { ...premium, discountPercent: 0 }, 435],
  ]
  for (const [input, output, price, credits] of rows)
    t.equal(computeCredits({ input, output }, price), credits, `${input} and ${output}`)
})

t.test('over 100 000 random turns rounding never adds a whole credit and never loses one', async (t) => {
  const random = seeded(20_260_513)
  let wrong = 0
  let charged = 0n
  let exact = 0n
  for (let turn = 0; turn < 100_000; turn++) {
    const price: Price = { input: random(5000), output: random(20_000), discountPercent: random(101) }
    const [input, output] = [random(2_000_000), random(200_000)]
    const credits = computeCredits({ input, output }, price)
    if (BigInt(credits) !== exactly(input, output, price)) wrong += 1
    charged += BigInt(credits) * 100_000n
    exact += (BigInt(input) * BigInt(price.input) + BigInt(output) * BigInt(price.output)) * BigInt(100 - price.discountPercent)
  }
  t.equal(wrong, 0)
  t.ok(charged >= exact && charged - exact < 100_000n * 100_000n, 'the total error is less than a credit per turn')
})

t.test('tokens from a cache cost their own price, and the same as others where there is none', async (t) => {
  const rows: readonly (readonly [input: number, cachedInput: number, output: number, price: Price, credits: number])[] = [
    // 3, 0.3 and 15 dollars a million tokens, 50 % off.
    [1_000_000, 0, 0, cachedPrice, 1_500_000],
    [1_000_000, 1_000_000, 0, cachedPrice, 150_000],
    [1_000_000, 400_000, 1_000_000, cachedPrice, 900_000 + 60_000 + 7_500_000],
    [10, 9, 0, cachedPrice, 3],
    [10, 11, 0, cachedPrice, 2],
    [10, 10, 0, { ...cachedPrice, cachedInput: 0 }, 0],
    [1000, 1000, 1000, fast, 126],
  ]
  for (const [input, cachedInput, output, price, credits] of rows)
    t.equal(computeCredits({ input, cachedInput, output }, price), credits, `${input}, ${cachedInput} and ${output}`)
})

t.test('tokens from a cache never make a turn negative or more expensive, whatever their number', async (t) => {
  const random = seeded(20_261_124)
  let wrong = 0
  for (let turn = 0; turn < 50_000; turn++) {
    const price: Price = { input: random(5000), output: random(20_000), discountPercent: random(101) }
    const [input, cachedInput, output] = [random(2_000_000), random(3_000_000), random(200_000)]
    const cachedPrice = random(price.input + 1)
    const credits = computeCredits({ input, cachedInput, output }, { ...price, cachedInput: cachedPrice })
    const cached = Math.min(cachedInput, input)
    const nanoDollars = BigInt(input - cached) * BigInt(price.input) + BigInt(cached) * BigInt(cachedPrice)
    const exact = (nanoDollars + BigInt(output) * BigInt(price.output)) * BigInt(100 - price.discountPercent)
    if (BigInt(credits) !== (exact + 99_999n) / 100_000n) wrong += 1
    if (credits < 0 || credits > computeCredits({ input, output }, price)) wrong += 1
  }
  t.equal(wrong, 0)
})

t.test('credits pay for the affordable tokens and not for one more', async (t) => {
  const random = seeded(7)
  let wrong = 0
  for (let turn = 0; turn < 20_000; turn++) {
    const price: Price = { input: random(3000), output: 1 + random(9000), discountPercent: random(100) }
    const [credits, input] = [random(100_000), random(100_000)]
    const output = computeAffordableOutputTokens(credits, input, price)
    if (output > 0 && computeCredits({ input, output }, price) > credits) wrong += 1
    if (computeCredits({ input, output: output + 1 }, price) <= credits) wrong += 1
  }
  t.equal(wrong, 0)
})

t.test('a free answer makes any number of tokens affordable', async (t) => {
  t.equal(computeAffordableOutputTokens(0, 0, { input: 1, output: 0, discountPercent: 0 }), Number.MAX_SAFE_INTEGER)
  t.equal(computeAffordableOutputTokens(0, 10, { input: 1, output: 5, discountPercent: 100 }), Number.MAX_SAFE_INTEGER)
  t.equal(computeAffordableOutputTokens(0, 1_000_000, premium), 0)
})

/** Reproducible integers below `limit`. */
function seeded(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}
