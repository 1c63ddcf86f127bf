/** When a failing target is left out, and how it is probed. */
import * as fc from 'fast-check'
import t from 'tap'
import { Breaker as TargetBreaker } from '../../../../src/upstream/target/breaker.ts'

/** A breaker that goes by the rate alone. */
class Breaker extends TargetBreaker {
  constructor(options: ConstructorParameters<typeof TargetBreaker>[0] = {}) {
    super({ consecutiveFailures: Infinity, ...options })
  }
}

/** So many calls of one kind at one instant. */
function record(breaker: Breaker, ok: boolean, times: number, now: number): void {
  for (let nth = 0; nth < times; nth++) breaker.record(ok, now)
}

t.test('stays closed with few failures or a small share of many calls', (t) => {
  const few = new Breaker({ minCalls: 10 })
  record(few, false, 9, 1_000)
  t.equal(few.state(1_000), 'closed')
  const share = new Breaker({ failureRate: 0.5 })
  record(share, true, 51, 1_000)
  record(share, false, 50, 1_000)
  t.equal(share.state(1_000), 'closed')
  t.ok(share.allows(1_000))
  share.record(false, 1_000)
  t.equal(share.state(1_000), 'open', 'opens at half of them')
  t.end()
})

t.test('ignores calls before the window', (t) => {
  const breaker = new Breaker({ windowMs: 10_000, minCalls: 10 })
  record(breaker, false, 9, 1_000)
  breaker.record(false, 11_500)
  t.equal(breaker.state(11_500), 'closed')
  record(breaker, false, 8, 15_000)
  t.equal(breaker.state(15_000), 'closed')
  breaker.record(false, 15_001)
  t.equal(breaker.state(15_001), 'open')
  t.end()
})

t.test('admits single probes while open, with growing delays, and closes after good ones', (t) => {
  const breaker = new Breaker()
  record(breaker, false, 10, 0)
  t.notOk(breaker.allows(999))
  t.equal(breaker.state(999), 'open')
  t.equal(breaker.state(1_000), 'half_open')
  t.ok(breaker.wouldAllow(1_000))
  t.ok(breaker.wouldAllow(1_000), 'wouldAllow does not use up the probe')
  t.ok(breaker.allows(1_000))
  t.notOk(breaker.wouldAllow(1_001))
  t.notOk(breaker.allows(1_001))
  breaker.record(false, 1_100)
  t.notOk(breaker.allows(2_999), 'a bad probe doubles the delay')
  t.ok(breaker.allows(3_000))
  breaker.record(true, 3_100)
  t.notOk(breaker.allows(3_999), 'one good probe is not enough')
  t.equal(breaker.state(3_999), 'half_open')
  t.ok(breaker.allows(4_000))
  breaker.record(true, 4_100)
  t.equal(breaker.state(4_100), 'closed')
  t.ok(breaker.allows(4_100))
  t.ok(breaker.allows(4_100))
  t.end()
})

t.test('starts over after a bad probe between good ones', (t) => {
  const breaker = new Breaker({ probesToClose: 2 })
  record(breaker, false, 10, 0)
  breaker.record(true, 1_000)
  breaker.record(false, 2_000)
  breaker.record(true, 3_000)
  t.not(breaker.state(3_000), 'closed')
  breaker.record(true, 4_000)
  t.equal(breaker.state(4_000), 'closed')
  t.end()
})

t.test('does not count a call from before the opening as a probe', (t) => {
  const breaker = new Breaker()
  record(breaker, false, 10, 5_000)
  for (let nth = 0; nth < 6; nth++) breaker.record(true, 6_000, 4_000)
  t.equal(breaker.state(5_500), 'open')
  t.end()
})

t.test('admits further probes if one never ends', (t) => {
  const breaker = new Breaker()
  record(breaker, false, 10, 0)
  t.ok(breaker.allows(1_000))
  t.ok(breaker.allows(2_000))
  t.end()
})

t.test('starts to count from zero after closing', (t) => {
  const breaker = new Breaker()
  record(breaker, false, 10, 0)
  breaker.record(true, 1_000)
  breaker.record(true, 2_000)
  record(breaker, false, 9, 2_100)
  t.equal(breaker.state(2_100), 'closed')
  breaker.record(false, 2_100)
  t.equal(breaker.state(2_100), 'open')
  t.end()
})

t.test('notices an outage of ten seconds within two, probes at most once per second, and closes within five', (t) => {
  const breaker = new TargetBreaker()
  const calls = { whileOpen: 0 }
  let openedAt: number | null = null
  let closedAt: number | null = null
  for (let now = 0; now < 40_000; now += 10) {
    const failing = now >= 20_000 && now < 30_000
    const wasOpen = breaker.state(now) !== 'closed'
    if (!breaker.allows(now)) continue
    if (wasOpen) calls.whileOpen++
    breaker.record(!failing, now)
    const state = breaker.state(now)
    if (state === 'open') openedAt ??= now
    if (openedAt !== null && state === 'closed') closedAt ??= now
  }
  t.ok(openedAt !== null && openedAt - 20_000 <= 2_000, `opened at ${openedAt}`)
  t.ok(closedAt !== null && closedAt - 30_000 <= 5_000, `closed at ${closedAt}`)
  t.ok(calls.whileOpen <= 7, `${calls.whileOpen} calls while open`)
  t.end()
})

t.test('never admits more than one probe per second while open', (t) => {
  const step = fc.record({ waitMs: fc.nat({ max: 700 }), ok: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const breaker = new TargetBreaker({ minCalls: 3, consecutiveFailures: 4 })
      let now = 0
      let probeAt = Number.NEGATIVE_INFINITY
      for (const { waitMs, ok } of steps) {
        now += waitMs
        const open = breaker.state(now) !== 'closed'
        if (!breaker.allows(now)) continue
        if (open && now - probeAt < 1_000) return false
        if (open) probeAt = now
        breaker.record(ok, now)
      }
      return true
    }),
  )
  t.pass()
  t.end()
})

t.test('opens after five failures in a row, however slowly they come, and not if one call succeeds between them', (t) => {
  const slow = new TargetBreaker()
  for (let nth = 1; nth <= 5; nth++) {
    t.equal(slow.state(nth * 60_000), 'closed')
    slow.record(false, nth * 60_000)
  }
  t.ok(slow.isDown)
  t.notOk(slow.allows(300_999))
  t.ok(slow.allows(301_000))
  t.notOk(slow.allows(301_001), 'one probe')
  const mixed = new TargetBreaker()
  for (let nth = 0; nth < 40; nth++) mixed.record(nth % 5 === 4, nth * 60_000)
  t.equal(mixed.state(3_000_000), 'closed')
  t.end()
})

t.test('is not down while only a part of its calls fails', (t) => {
  const breaker = new TargetBreaker()
  for (let nth = 0; nth < 20; nth++) breaker.record(nth % 2 === 0, 100)
  t.equal(breaker.state(100), 'open')
  t.notOk(breaker.allows(101))
  t.notOk(breaker.isDown)
  record(breaker, false, 5, 102)
  t.ok(breaker.isDown, 'until calls in a row fail')
  t.end()
})

t.test('advises to retry later and later while calls fail, and forgets it with the first success', (t) => {
  const breaker = new TargetBreaker()
  const advised: number[] = []
  for (let nth = 0; nth < 8; nth++) {
    breaker.record(false, nth * 10_000)
    advised.push(breaker.retryMs(nth * 10_000) / 1000)
  }
  t.same(advised, [1, 2, 4, 8, 16, 30, 30, 30])
  breaker.record(true, 90_000)
  breaker.record(true, 91_000)
  breaker.record(false, 92_000)
  t.equal(breaker.retryMs(92_000), 1_000)
  t.end()
})

t.test('rests for a stated time without any probe, then admits one', (t) => {
  const breaker = new TargetBreaker()
  breaker.record(false, 1_000)
  breaker.rest(60_000, 1_000)
  t.equal(breaker.waitMs(1_000), 60_000)
  for (let now = 1_000; now < 61_000; now += 500) t.notOk(breaker.allows(now), `${now}`)
  t.ok(breaker.allows(61_000))
  t.notOk(breaker.allows(61_500))
  breaker.record(true, 61_600, 61_000)
  t.notOk(breaker.isDown, 'after a good probe')
  t.end()
})
