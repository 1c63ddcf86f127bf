/** How many calls may be retried, so that retries never become the load. */
import * as fc from 'fast-check'
import t from 'tap'
import { RetryBudget } from '../../../../src/upstream/target/retry-budget.ts'

t.test('allows a quiet gateway a few retries per minute', (t) => {
  const budget = new RetryBudget()
  t.same(
    [0, 0, 0, 0].map(() => budget.spend(0)),
    [true, true, true, false],
  )
  t.notOk(budget.spend(59_000))
  t.ok(budget.spend(60_000))
  t.end()
})

t.test('allows a busy gateway to retry a tenth of its turns: 220 calls for 200 turns that all want a retry', (t) => {
  const budget = new RetryBudget()
  let retries = 0
  for (let nth = 0; nth < 200; nth++) {
    budget.earn(nth * 100)
    if (budget.spend(nth * 100)) retries++
  }
  t.equal(retries, 20)
  t.end()
})

t.test('saves nothing up beyond the window, and grants nothing for a clock set back', (t) => {
  const budget = new RetryBudget()
  for (let nth = 0; nth < 1_000; nth++) budget.earn(0)
  let retries = 0
  while (retries < 1_000 && budget.spend(120_000)) retries++
  t.equal(retries, 3)
  t.notOk(budget.spend(0))
  t.end()
})

t.test('keeps retries within the tenth of each minute, or its three', (t) => {
  const step = fc.record({ waitMs: fc.nat({ max: 5_000 }), tries: fc.nat({ max: 3 }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const budget = new RetryBudget()
      let now = 0
      let retries = 0
      for (const { waitMs, tries } of steps) {
        now += waitMs
        budget.earn(now)
        for (let nth = 0; nth < tries; nth++) if (budget.spend(now)) retries++
      }
      return retries <= 0.1 * steps.length + 3 * (1 + now / 55_000)
    }),
  )
  t.pass()
  t.end()
})
