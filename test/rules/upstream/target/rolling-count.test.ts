/** How many events the last part of time had. */
import * as fc from 'fast-check'
import t from 'tap'
import { RollingCount } from '../../../../src/upstream/target/rolling-count.ts'

t.test('a count forgets each event between nine and ten steps after it', (t) => {
  const event = fc.record({ waitMs: fc.nat({ max: 2_500 }), isCounted: fc.boolean() })
  fc.assert(
    fc.property(fc.array(event, { maxLength: 100 }), (events) => {
      const count = new RollingCount({ windowMs: 10_000, steps: 10 })
      const times: number[] = []
      let now = 0
      for (const { waitMs, isCounted } of events) {
        now += waitMs
        if (isCounted) {
          count.add(now)
          times.push(now)
        }
        const expected = times.filter((at) => Math.floor(now / 1_000) - Math.floor(at / 1_000) < 10).length
        if (count.total(now) !== expected) return false
      }
      return true
    }),
  )
  t.pass()
  t.end()
})

t.test('a count goes on in the current step when time is set back, and can be cleared', (t) => {
  const count = new RollingCount({ windowMs: 10_000, steps: 10 })
  count.add(25_000)
  count.add(3_000)
  t.equal(count.total(34_999), 2)
  t.equal(count.total(35_000), 0)
  count.add(35_000)
  count.clear()
  t.equal(count.total(35_000), 0)
  t.end()
})
