/** The two clocks of the service, handed to whatever needs the time. */
import { performance } from 'node:perf_hooks'
import { hrtime } from 'node:process'

export interface Clock {
  /** Milliseconds since the epoch. One reading an operation. */
  now(): number
  /** Milliseconds that never go back, for durations and deadlines. */
  ticks(): number
}

export const systemClock: Clock = { now: () => Date.now(), ticks: () => performance.now() }

/** Where this thread's clock of durations began, by the machine's: each thread's begins with the thread. */
export function ticksOrigin(): number {
  return Number(hrtime.bigint()) / 1e6 - performance.now()
}

/** A thread's clock that tells the same time as the one that began there. */
export function clockFrom(origin: number): Clock {
  const ahead = ticksOrigin() - origin
  return { now: () => Date.now(), ticks: () => performance.now() + ahead }
}
