/** The two clocks of the service, handed to whatever needs the time. */
import { performance } from 'node:perf_hooks'

export interface Clock {
  /** Milliseconds since the epoch. One reading an operation. */
  now(): number
  /** Milliseconds that never go back, for durations and deadlines. */
  ticks(): number
}

export const systemClock: Clock = { now: () => Date.now(), ticks: () => performance.now() }

/**
 * The wall clock as leases see it. A step forward, as the network's time at boot or a machine that slept bring one, must not end the lease
 * of a turn that still runs: its hold would be given back and its answer be free.
 */
export class LeaseClock {
  readonly #clock: Clock
  #wall: number
  #ticks: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#wall = clock.now()
    this.#ticks = clock.ticks()
  }

  /** Milliseconds since the epoch, never more than has really passed since the last look at which nothing ran. */
  now(idle: boolean): number {
    const wall = this.#clock.now()
    const ticks = this.#clock.ticks()
    const steady = this.#wall + ticks - this.#ticks
    if (!idle && wall > steady) return steady
    this.#wall = wall
    this.#ticks = ticks
    return wall
  }
}
