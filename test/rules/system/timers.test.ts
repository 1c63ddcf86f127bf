/** The order of timers, with a time that is a number. */
import * as fc from 'fast-check'
import t from 'tap'
import { Timers } from '../../../src/system/timers.ts'
import type { Timer } from '../../../src/system/timers.ts'

t.test('timers fire in the order of their times, and cancelled ones never', async (t) => {
  const action = fc.record({
    kind: fc.constantFrom('start', 'start', 'start', 'cancel', 'restart', 'pass'),
    index: fc.nat(30),
    ms: fc.integer({ min: 1, max: 50 }),
  })
  fc.assert(
    fc.property(fc.array(action, { maxLength: 100 }), (actions) => {
      let now = 0
      const timers = new Timers({ now: () => now, onChange: () => undefined })
      const fired: number[] = []
      const expected = new Map<number, { ms: number; dueMs: number; order: number }>()
      const started: { readonly timer: Timer; readonly ms: number }[] = []
      let order = 0
      const pass = (ms: number): void => {
        now += ms
        timers.runDue(now)
        const due = [...expected].filter(([, { dueMs }]) => dueMs <= now)
        due.sort(([, one], [, other]) => one.dueMs - other.dueMs || one.order - other.order)
        t.same(
          fired.splice(0),
          due.map(([id]) => id),
        )
        for (const [id] of due) expected.delete(id)
      }
      for (const { kind, index, ms } of actions) {
        const chosen = started[index]
        if (kind === 'start') {
          const id = started.length
          started.push({ ms, timer: timers.start({ ms, isRepeated: false, work: () => fired.push(id) }) })
          expected.set(id, { ms, dueMs: now + ms, order: order++ })
        } else if (kind === 'pass') pass(ms)
        else if (chosen !== undefined && kind === 'cancel') {
          chosen.timer.cancel()
          expected.delete(index)
        } else if (chosen !== undefined) {
          chosen.timer.restart()
          expected.set(index, { ms: chosen.ms, dueMs: now + chosen.ms, order: order++ })
        }
      }
      pass(1_000)
      t.equal(timers.nextDueMs, undefined)
      t.equal(timers.keepsRunning, false)
    }),
    { numRuns: 200 },
  )
})

t.test('a repeated timer waits again from when it fired', async (t) => {
  let now = 0
  const timers = new Timers({ now: () => now, onChange: () => undefined })
  let count = 0
  timers.start({ ms: 10, isRepeated: true, work: () => count++ })
  now = 35
  timers.runDue(now)
  t.equal(count, 1, 'no call for each time that was missed')
  t.equal(timers.nextDueMs, 45)
})

t.test('a work that throws stops no other timer, and what a timer starts fires in a later round', async (t) => {
  let now = 10
  const timers = new Timers({ now: () => now, onChange: () => undefined })
  const fired: string[] = []
  timers.start({
    ms: 1,
    isRepeated: false,
    work: () => {
      throw new Error('a fault')
    },
  })
  timers.start({
    ms: 2,
    isRepeated: false,
    work: () => {
      fired.push('second')
      timers.start({ ms: 0, isRepeated: false, work: () => fired.push('third') })
    },
  })
  now = 12
  t.throws(() => timers.runDue(now), /a fault/)
  timers.runDue(now)
  t.same(fired, ['second'])
  now = 13
  timers.runDue(now)
  t.same(fired, ['second', 'third'])
})
