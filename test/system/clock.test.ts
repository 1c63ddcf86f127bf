import t from 'tap'
import { LeaseClock } from '../../src/system/clock.ts'

t.test('a lease ends by the time that has passed, not by a step of the wall clock, while turns run', (t) => {
  let wall = 1_000_000
  let ticks = 0
  const pass = (ms: number): void => {
    wall += ms
    ticks += ms
  }
  const leases = new LeaseClock({ now: () => wall, ticks: () => ticks })
  pass(5_000)
  t.equal(leases.now(false), 1_005_000)
  wall += 3_600_000
  pass(5_000)
  t.equal(leases.now(false), 1_010_000, 'an hour that nobody has lived')
  pass(5_000)
  t.equal(leases.now(true), wall, 'nothing runs: nobody is wronged by the hour')
  pass(5_000)
  t.equal(leases.now(false), wall)
  wall -= 3_600_000
  t.equal(leases.now(false), wall, 'a step back only makes leases longer')
  pass(5_000)
  t.equal(leases.now(false), wall)
  t.end()
})
