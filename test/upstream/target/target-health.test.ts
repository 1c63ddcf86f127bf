/** What each end of a call says about its target. */
import t from 'tap'
import { UpstreamFailure } from '../../../src/exchange/upstream-failure.ts'
import type { FailureFacts } from '../../../src/exchange/upstream-failure.ts'
import { TargetHealth } from '../../../src/upstream/target/target-health.ts'

const options = { restAfterFailures: 5, rejectedKeyRestMs: 60_000 }
const timedOut: FailureFacts = { kind: 'timeout', phase: 'first_byte' }
const notCalled: readonly FailureFacts[] = [
  { kind: 'queue_full' },
  { kind: 'network', code: 'EMFILE' },
  { kind: 'unconfigured', reason: 'unknown upstream' },
]

for (const facts of notCalled)
  t.test(`calls that were not made hide no failure of those that were: ${JSON.stringify(facts)}`, (t) => {
    const health = new TargetHealth(options)
    for (let nth = 0; nth < 5; nth++) {
      health.recordFailure(new UpstreamFailure(timedOut), nth * 10_000, nth * 10_000)
      for (let refused = 0; refused < 20; refused++)
        health.recordFailure(new UpstreamFailure(facts), nth * 10_000 + refused, nth * 10_000)
    }
    t.equal(health.breaker.state(40_100), 'open')
    t.notOk(health.admits(40_100, false))
    for (let now = 41_000; now < 44_000; now += 1_000) {
      t.ok(health.admits(now, false), 'a probe')
      health.recordFailure(new UpstreamFailure(facts), now, now)
    }
    t.not(health.breaker.state(44_000), 'closed', 'a probe that was not sent is no success')
    t.end()
  })

t.test('a failure that the request caused ends a row of failures', (t) => {
  const health = new TargetHealth(options)
  const refused: FailureFacts = { kind: 'status', status: 400, contentType: '', retryAfter: null, body: '{"error":"no"}' }
  for (let nth = 0; nth < 12; nth++) {
    const failure = new UpstreamFailure(nth % 4 === 3 ? refused : timedOut)
    health.recordFailure(failure, nth * 10_000, nth * 10_000)
    t.equal(failure.retryAfterSeconds, nth % 4 === 3 ? null : 2 ** (nth % 4))
  }
  t.equal(health.breaker.state(120_000), 'closed')
  t.end()
})
