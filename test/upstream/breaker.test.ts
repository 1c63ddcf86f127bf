/** A bad target is left alone, and tried again once a second; retries are paid from a budget. */
import t from 'tap'
import { Breaker, RetryBudget } from '../../src/upstream/breaker.ts'

t.test('it opens on a rate of failures, not on a few', async (t) => {
  const breaker = new Breaker()
  for (let i = 0; i < 9; i++) breaker.record(false, 1_000)
  t.equal(breaker.state(1_000), 'closed', 'nine calls say nothing')
  breaker.record(false, 1_000)
  t.equal(breaker.state(1_000), 'open')
  t.notOk(breaker.allows(1_500))

  const healthy = new Breaker()
  for (let i = 0; i < 100; i++) healthy.record(i % 3 !== 0, 1_000)
  t.equal(healthy.state(1_000), 'closed', 'a third of failures is below the rate')
})

t.test('failures are forgotten with their window', async (t) => {
  const breaker = new Breaker()
  for (let i = 0; i < 9; i++) breaker.record(false, 1_000)
  for (let i = 0; i < 9; i++) breaker.record(false, 12_000)
  t.equal(breaker.state(12_000), 'closed')
  breaker.record(false, 12_500)
  t.equal(breaker.state(12_500), 'open')
})

t.test('open, it lets one call a second through, and closes on the first that succeeds', async (t) => {
  const breaker = new Breaker()
  for (let i = 0; i < 10; i++) breaker.record(false, 0)
  let let0 = 0
  for (let now = 0; now <= 10_000; now += 10) if (breaker.allows(now)) let0++
  t.ok(let0 <= 10, `${let0} probes in ten seconds`)
  t.ok(let0 >= 9)
  breaker.record(true, 10_010)
  t.equal(breaker.state(10_010), 'closed')
  t.ok(breaker.allows(10_011))
})

t.test('a probe that fails keeps it open', async (t) => {
  const breaker = new Breaker()
  for (let i = 0; i < 10; i++) breaker.record(false, 0)
  t.ok(breaker.allows(1_000))
  t.equal(breaker.state(1_000), 'half_open')
  breaker.record(false, 1_200)
  t.notOk(breaker.allows(2_100))
  t.ok(breaker.allows(2_200))
})

t.test('to ask whether it would allow claims no probe', async (t) => {
  const breaker = new Breaker()
  for (let i = 0; i < 10; i++) breaker.record(false, 0)
  t.ok(breaker.wouldAllow(1_000))
  t.ok(breaker.wouldAllow(1_000))
  t.ok(breaker.allows(1_000))
  t.notOk(breaker.wouldAllow(1_001))
})

t.test('calls from before it opened do not close it', async (t) => {
  const breaker = new Breaker()
  for (let i = 0; i < 10; i++) breaker.record(false, 0)
  breaker.record(true, 10)
  t.equal(breaker.state(10), 'open')
})

t.test('an outage is not answered with a storm of retries', async (t) => {
  const budget = new RetryBudget(0.2, 3)
  let retried = 0
  for (let call = 0; call < 1_000; call++) {
    budget.earn()
    if (budget.spend(0)) retried++
  }
  t.ok(retried <= 230 + 1, `${retried} retries of 1000 calls in one instant: the share, and what was saved`)
  t.ok(budget.spend(60_000), 'and some each second in any case')
})
