/** The time of deadlines, with a clock that is a number. */
import t from 'tap'
import { ClientPace } from '../../src/upstream/client-pace.ts'
import { PauselessClock } from '../../src/upstream/pauseless-clock.ts'

t.test('moves with the clock while ticks come in time', async (t) => {
  let ms = 5_000
  const clock = new PauselessClock({ monotonicMs: () => ms })
  for (let i = 0; i < 10; i++) {
    ms += 100
    t.equal(clock.tick(), 100)
  }
  ms += 30
  t.equal(clock.now(), 1_030)
})

t.test('counts a pause of the process as one step, whatever is recorded before the next tick', async (t) => {
  let ms = 0
  const clock = new PauselessClock({ monotonicMs: () => ms })
  const pace = new ClientPace()
  ms += 50
  pace.recordBlocked(clock.now())
  ms += 60_000
  t.equal(pace.isSlow(clock.now()), false, 'the client is not slow')
  t.equal(clock.now(), 200)
  t.equal(clock.tick(), 60_050)
  ms += 50
  pace.recordDrain(clock.now())
  t.equal(pace.isSlow(clock.now()), false)
  t.equal(clock.now(), 250)
})
