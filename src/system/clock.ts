/**
 * Wall clock, monotonic clock and timers, injected wherever time is needed. Only this file uses the clocks and timers of Node.
 *
 * A wait does not count the time in which its thread stood still: a stopped process, a suspended machine, a blocked event loop. Nothing could
 * arrive meanwhile, so that time is no client's, no upstream's and no database's. What has arrived when a wait ends is handled first.
 */
import { performance } from 'node:perf_hooks'
import { hrtime } from 'node:process'
import { Timers } from './timers.ts'
import type { Timer } from './timers.ts'

export type { Timer }

export interface Clock {
  /** Milliseconds since the epoch. Read once per operation. */
  now(): number
  /** Monotonic milliseconds, for durations and ages. */
  monotonicMs(): number
  /**
   * Monotonic milliseconds in which the thread was running, for deadlines that have no timer of their own. They pass only while a timer of
   * this clock waits. `monotonicMs` is for a caller that has just read that clock.
   */
  activeMs(monotonicMs?: number): number
  /** Calls `work` once. */
  after(ms: number, work: () => void): Timer
  /** Calls `work` each time this time has passed since its last call. */
  every(ms: number, work: () => void): Timer
  /** Resolves after this time, or rejects with the signal's reason. */
  wait(ms: number, signal?: AbortSignal): Promise<void>
  /** Settles as the promise does, or rejects with a `TimeoutError` if it has not settled after this time. */
  within<T>(ms: number, promise: Promise<T>): Promise<T>
  /** A signal that is aborted with a `TimeoutError` after this time. It does not keep the process running. */
  deadline(ms: number): AbortSignal
}

/** What every clock does with its timers. */
export abstract class TimerClock implements Clock {
  protected abstract readonly timers: Timers

  abstract readonly now: () => number
  abstract readonly monotonicMs: () => number
  abstract activeMs(monotonicMs?: number): number

  after(ms: number, work: () => void): Timer {
    return this.timers.start({ ms, work, isRepeated: false })
  }

  every(ms: number, work: () => void): Timer {
    return this.timers.start({ ms, work, isRepeated: true })
  }

  async wait(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = this.after(ms, resolve)
    const onAbort = (): void => reject(signal?.reason as Error)
    signal?.addEventListener('abort', onAbort)
    try {
      await promise
    } finally {
      timer.cancel()
      signal?.removeEventListener('abort', onAbort)
    }
  }

  async within<T>(ms: number, promise: Promise<T>): Promise<T> {
    const timeout = Promise.withResolvers<never>()
    const timer = this.after(ms, () => timeout.reject(createTimeoutError(ms)))
    try {
      return await Promise.race([promise, timeout.promise])
    } finally {
      timer.cancel()
    }
  }

  deadline(ms: number): AbortSignal {
    const controller = new AbortController()
    this.after(ms, () => controller.abort(createTimeoutError(ms))).unref()
    return controller.signal
  }
}

function createTimeoutError(ms: number): DOMException {
  return new DOMException(`no answer within ${ms} ms`, 'TimeoutError')
}

/** While timers wait, the thread wakes up this often to see that it runs. */
const stepMs = 100
/** A longer time between two of these steps counts as this much: the thread stood still for the rest. */
const maxStepMs = 200

/** The clock of a thread. One native timer serves all of its timers. */
class ThreadClock extends TimerClock {
  readonly now: () => number
  readonly monotonicMs: () => number
  protected readonly timers = new Timers({
    now: () => this.activeMs(),
    onFirst: () => this.#step(),
    onChange: () => this.#schedule(),
  })
  /** Active time at the last step, and the monotonic time of that step. */
  #stepActiveMs = 0
  #stepMonotonicMs: number
  #native: NodeJS.Timeout | undefined
  /** Active time at which the native timer fires. */
  #nativeDueMs = 0
  #isDue = false

  constructor({ now, monotonicMs }: ClockReadings) {
    super()
    this.now = now
    this.monotonicMs = monotonicMs
    this.#stepMonotonicMs = monotonicMs()
  }

  activeMs(monotonicMs = this.monotonicMs()): number {
    return this.#stepActiveMs + Math.min(maxStepMs, monotonicMs - this.#stepMonotonicMs)
  }

  #step(): void {
    const monotonicMs = this.monotonicMs()
    this.#stepActiveMs = this.activeMs(monotonicMs)
    this.#stepMonotonicMs = monotonicMs
  }

  #schedule(): void {
    const { nextDueMs, keepsRunning } = this.timers
    if (this.#isDue) return
    if (nextDueMs === undefined) {
      clearTimeout(this.#native)
      this.#native = undefined
      return
    }
    if (this.#native === undefined || nextDueMs < this.#nativeDueMs) {
      clearTimeout(this.#native)
      const activeMs = this.activeMs()
      const waitMs = Math.max(1, Math.min(stepMs, Math.ceil(nextDueMs - activeMs)))
      this.#nativeDueMs = activeMs + waitMs
      this.#native = setTimeout(() => this.#wake(), waitMs)
    }
    if (keepsRunning !== this.#native.hasRef()) {
      if (keepsRunning) this.#native.ref()
      else this.#native.unref()
    }
  }

  #wake(): void {
    this.#native = undefined
    this.#step()
    if ((this.timers.nextDueMs ?? Infinity) > this.#stepActiveMs) return this.#schedule()
    // After what has arrived by now.
    this.#isDue = true
    setImmediate(() => {
      this.#isDue = false
      try {
        this.timers.runDue(this.#stepActiveMs)
      } finally {
        this.#schedule()
      }
    })
  }
}

interface ClockReadings {
  readonly now: () => number
  readonly monotonicMs: () => number
}

const nodeReadings: ClockReadings = { now: () => Date.now(), monotonicMs: () => performance.now() }

export const systemClock: Clock = new ThreadClock(nodeReadings)

/** A clock of this thread that reads another time. */
export function createClock(readings: Partial<ClockReadings>): Clock {
  return new ThreadClock({ ...nodeReadings, ...readings })
}

/** Origin of this thread's monotonic clock on the machine's clock: each thread's starts at 0 with the thread. */
export function getMonotonicOriginMs(): number {
  return Number(hrtime.bigint()) / 1e6 - performance.now()
}

/** A clock in this thread with the monotonic time of the thread whose origin is given. */
export function createClockFrom(origin: number): Clock {
  const offsetMs = getMonotonicOriginMs() - origin
  return createClock({ monotonicMs: () => performance.now() + offsetMs })
}
