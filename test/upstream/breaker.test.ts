/** When a failing target is left alone, and how it is tried again. */
import * as fc from 'fast-check'
import t from 'tap'
import { Breaker } from '../../src/upstream/breaker.ts'

/** So many calls of one kind in one instant. */
function record(breaker: Breaker, ok: boolean, times: number, now: number): void {
  for (let nth = 0; nth < times; nth++) breaker.record(ok, now)
}

t.test('few failures never open it, nor does a small share of many calls', (t) => {
  const few = new Breaker({ minimumCalls: 10 })
  record(few, false, 9, 1_000)
  t.equal(few.state(1_000), 'closed')
  const share = new Breaker({ failureRate: 0.5 })
  record(share, true, 51, 1_000)
  record(share, false, 50, 1_000)
  t.equal(share.state(1_000), 'closed')
  t.ok(share.allows(1_000))
  share.record(false, 1_000)
  t.equal(share.state(1_000), 'open', 'at half of them it opens')
  t.end()
})

t.test('what lies further back than the window does not count', (t) => {
  const breaker = new Breaker({ windowMs: 10_000, minimumCalls: 10 })
  record(breaker, false, 9, 1_000)
  breaker.record(false, 11_500)
  t.equal(breaker.state(11_500), 'closed')
  record(breaker, false, 8, 15_000)
  t.equal(breaker.state(15_000), 'closed')
  breaker.record(false, 15_001)
  t.equal(breaker.state(15_001), 'open')
  t.end()
})

t.test('while open it lets one probe through a second, and good ones close it', (t) => {
  const breaker = new Breaker()
  record(breaker, false, 10, 0)
  t.notOk(breaker.allows(999))
  t.equal(breaker.state(999), 'open')
  t.equal(breaker.state(1_000), 'half_open')
  t.ok(breaker.wouldAllow(1_000))
  t.ok(breaker.wouldAllow(1_000), 'asking does not take the probe')
  t.ok(breaker.allows(1_000))
  t.notOk(breaker.wouldAllow(1_001))
  t.notOk(breaker.allows(1_001))
  breaker.record(false, 1_100)
  t.notOk(breaker.allows(1_999))
  t.ok(breaker.allows(2_000))
  breaker.record(true, 2_100)
  t.notOk(breaker.allows(2_999), 'one good probe is not enough')
  t.equal(breaker.state(2_999), 'half_open')
  t.ok(breaker.allows(3_000))
  breaker.record(true, 3_100)
  t.equal(breaker.state(3_100), 'closed')
  t.ok(breaker.allows(3_100))
  t.ok(breaker.allows(3_100))
  t.end()
})

t.test('a bad probe between good ones begins anew', (t) => {
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

t.test('a call from before the opening is no probe', (t) => {
  const breaker = new Breaker()
  record(breaker, false, 10, 5_000)
  for (let nth = 0; nth < 5; nth++) breaker.record(true, 6_000, 4_000)
  t.equal(breaker.state(5_500), 'open')
  t.end()
})

t.test('a probe that never tells its end does not keep it shut', (t) => {
  const breaker = new Breaker()
  record(breaker, false, 10, 0)
  t.ok(breaker.allows(1_000))
  t.ok(breaker.allows(2_000))
  t.end()
})

t.test('after closing it starts to count from nothing', (t) => {
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

t.test('an outage of ten seconds is noticed within two, probed once a second, and over within five', (t) => {
  const breaker = new Breaker()
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
  t.ok(calls.whileOpen <= 13, `${calls.whileOpen} calls while open`)
  t.end()
})

t.test('whatever happens, an open breaker lets through no more than a probe a second', (t) => {
  const step = fc.record({ waitMs: fc.nat({ max: 700 }), ok: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const breaker = new Breaker({ minimumCalls: 3 })
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
