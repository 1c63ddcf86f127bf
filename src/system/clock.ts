/** Wall clock and monotonic clock, injected wherever time is needed. */
import { performance } from 'node:perf_hooks'
import { hrtime } from 'node:process'

export interface Clock {
  /** Milliseconds since the epoch. Read once per operation. */
  now(): number
  /** Monotonic milliseconds, for durations and deadlines. */
  monotonicMs(): number
}

export const systemClock: Clock = { now: () => Date.now(), monotonicMs: () => performance.now() }

/** Origin of this thread's monotonic clock on the machine's clock: each thread's starts at 0 with the thread. */
export function getMonotonicOriginMs(): number {
  return Number(hrtime.bigint()) / 1e6 - performance.now()
}

/** A clock in this thread with the monotonic time of the thread whose origin is given. */
export function createClockFrom(origin: number): Clock {
  const offsetMs = getMonotonicOriginMs() - origin
  return { now: () => Date.now(), monotonicMs: () => performance.now() + offsetMs }
}
