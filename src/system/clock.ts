/** The two clocks of the service, handed to whatever needs the time. */
import { performance } from 'node:perf_hooks'

export interface Clock {
  /** Milliseconds since the epoch. One reading an operation. */
  now(): number
  /** Milliseconds that never go back, for durations and deadlines. */
  ticks(): number
}

export const systemClock: Clock = { now: () => Date.now(), ticks: () => performance.now() }
