/** A clock that only the test moves: nothing waits, and a slow machine changes no result. Timers fire as real time passes. */
import { SimulatedClock } from '../simulated-clock.ts'

export function createMovableClock(): { readonly clock: SimulatedClock; readonly advance: (ms: number) => void } {
  const clock = new SimulatedClock({ isLive: true })
  return { clock, advance: clock.skip }
}
