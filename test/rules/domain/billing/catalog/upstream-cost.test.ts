/** What an upstream charges for a turn, in whole nano-dollars. */
import t from 'tap'
import { computeUpstreamCost } from '../../../../../src/domain/billing/catalog/upstream-cost.ts'

const cost = { input: 2, cachedInput: 0.5, output: 8, perCall: 0 }

t.test('tokens cost their prices of a million, and tokens from a cache their own price', async (t) => {
  t.equal(computeUpstreamCost({ input: 1_000_000, output: 0 }, cost), 2e9)
  t.equal(computeUpstreamCost({ input: 0, output: 1_000_000 }, cost), 8e9)
  t.equal(computeUpstreamCost({ input: 100, cachedInput: 40, output: 7 }, cost), 60 * 2_000 + 40 * 500 + 7 * 8_000)
  t.equal(computeUpstreamCost({ input: 100, cachedInput: 40, output: 0 }, { ...cost, cachedInput: null }), 100 * 2_000)
  t.equal(computeUpstreamCost({ input: 10, cachedInput: 40, output: 0 }, cost), 10 * 500, 'no more are cached than there are')
})

t.test('a call, or each picture, costs its own price besides the tokens', async (t) => {
  t.equal(computeUpstreamCost({ input: 1, output: 0 }, { ...cost, perCall: 0.04 }), 40_002_000)
  t.equal(computeUpstreamCost({ input: 0, output: 0 }, { ...cost, perCall: 0.04 }, 3), 120_000_000)
})

t.test('prices may have any number of decimal places, and a cost is rounded once', async (t) => {
  t.equal(computeUpstreamCost({ input: 1_000, output: 0 }, { ...cost, input: 0.01875 }), 18_750)
  t.equal(computeUpstreamCost({ input: 1, output: 1 }, { ...cost, input: 0.0004, output: 0.0004 }), 1)
})

t.test('a cost that cannot be counted exactly is unknown', async (t) => {
  t.equal(computeUpstreamCost({ input: Number.MAX_SAFE_INTEGER, output: 0 }, cost), null)
})
