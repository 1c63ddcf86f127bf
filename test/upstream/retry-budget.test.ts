/** How many calls may be repeated, so that retries never become the load. */
import * as fc from 'fast-check'
import t from 'tap'
import { RetryBudget } from '../../src/upstream/retry-budget.ts'

t.test('a quiet gateway may retry a few times a minute', (t) => {
  const budget = new RetryBudget()
  t.same(
    [0, 0, 0, 0].map(() => budget.spend(0)),
    [true, true, true, false],
  )
  t.notOk(budget.spend(59_000))
  t.ok(budget.spend(60_000))
  t.end()
})

t.test('a busy one may retry a tenth of its turns: 220 calls for 200 turns that all want a second one', (t) => {
  const budget = new RetryBudget()
  let retries = 0
  for (let nth = 0; nth < 200; nth++) {
    budget.earn(nth * 100)
    if (budget.spend(nth * 100)) retries++
  }
  t.equal(retries, 20)
  t.end()
})

t.test('nothing is saved up beyond the window, and a clock set back gives nothing', (t) => {
  const budget = new RetryBudget()
  for (let nth = 0; nth < 1_000; nth++) budget.earn(0)
  let retries = 0
  while (retries < 1_000 && budget.spend(120_000)) retries++
  t.equal(retries, 3)
  t.notOk(budget.spend(0))
  t.end()
})

t.test('over any run, retries stay within the tenth of each minute or its three', (t) => {
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
