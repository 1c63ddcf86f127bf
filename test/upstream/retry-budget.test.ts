import * as fc from 'fast-check'
import t from 'tap'
import { RetryBudget } from '../../src/upstream/retry-budget.ts'

t.test('a quiet gateway may retry a few times a second', (t) => {
  const budget = new RetryBudget({ perSecond: 3 })
  t.same(
    [0, 0, 0, 0].map(() => budget.spend(0)),
    [true, true, true, false],
  )
  t.notOk(budget.spend(300))
  t.ok(budget.spend(400))
  t.end()
})

t.test('a busy one may retry a share of its calls', (t) => {
  const budget = new RetryBudget({ share: 0.2, perSecond: 0, most: 100 })
  for (let nth = 0; nth < 50; nth++) budget.earn()
  let retries = 0
  while (retries < 1_000 && budget.spend(0)) retries++
  t.ok(retries === 10 || retries === 9, `${retries}`)
  t.end()
})

t.test('what is saved up is bounded, and a clock set back gives nothing', (t) => {
  const budget = new RetryBudget({ perSecond: 3, most: 5 })
  t.ok(budget.spend(0))
  let retries = 0
  while (retries < 1_000 && budget.spend(1_000_000)) retries++
  t.equal(retries, 5)
  t.notOk(budget.spend(0))
  t.notOk(budget.spend(1_000_000))
  t.end()
})

t.test('over any run, retries stay within the share, the time and the savings', (t) => {
  const step = fc.record({ waitMs: fc.nat({ max: 500 }), tries: fc.nat({ max: 5 }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const budget = new RetryBudget()
      let now = 0
      let retries = 0
      for (const { waitMs, tries } of steps) {
        now += waitMs
        budget.earn()
        for (let nth = 0; nth < tries; nth++) if (budget.spend(now)) retries++
      }
      return retries <= 3 + 0.2 * steps.length + (3 * now) / 1_000 + 1e-6
    }),
  )
  t.pass()
  t.end()
})
