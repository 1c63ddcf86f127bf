/**
 * Monotonic time of a thread without the time in which the thread, its process or its machine stood still: nothing could arrive meanwhile, so
 * that time is no client's and no upstream's. `tick` is called at an interval; between two ticks the clock moves by at most `maxStepMs`.
 */
import type { Clock } from '../system/clock.ts'

const maxStepMs = 200

export class PauselessClock {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  #ms = 0
  #tickedAt: number

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
    this.#tickedAt = clock.monotonicMs()
  }

  now(): number {
    return this.at(this.#clock.monotonicMs())
  }

  /** The time at a moment since the last tick, for a caller that has read the clock. */
  at(monotonicMs: number): number {
    return this.#ms + Math.min(maxStepMs, monotonicMs - this.#tickedAt)
  }

  /** Returns how many milliseconds the last tick was ago. */
  tick(): number {
    this.#ms = this.now()
    const before = this.#tickedAt
    this.#tickedAt = this.#clock.monotonicMs()
    return this.#tickedAt - before
  }
}
