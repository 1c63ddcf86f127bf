/**
 * Request limits shared by the threads of one process: the counting of `limits.ts` in shared memory of fixed size. A subject is identified by
 * 64 bits of a keyed hash. It has a slot in a row of eight; if all eight are in use, the least recently used one is replaced, which takes some
 * hundred thousand subjects within a minute.
 */
import type { LocalRateLimit, RateDecision } from './limits.ts'
import { decide, minuteMs, requestUnits, decayUnits } from './limits.ts'

const slotsPerRow = 8
const rows = 32_768
/** How often to try a row's lock before yielding: longer than a thread with a core holds one. */
const maxSpins = 200
const pauseMs = 1

/** Passed to each thread. */
export interface LimitMemory {
  /** The thread that holds each row; 0: none. */
  readonly locks: SharedArrayBuffer
  /** Two halves of the hash for each slot. */
  readonly keys: SharedArrayBuffer
  /** For each slot its units and when every limit is whole again; 0: never used. */
  readonly state: SharedArrayBuffer
  readonly seed: readonly [number, number]
}

export function createLimitMemory(seed: readonly [number, number]): LimitMemory {
  return {
    locks: new SharedArrayBuffer(rows * 4),
    keys: new SharedArrayBuffer(rows * slotsPerRow * 2 * 4),
    state: new SharedArrayBuffer(rows * slotsPerRow * 2 * 8),
    seed,
  }
}

/** Releases the row of a thread that ended while it held it. */
export function releaseLocks({ locks }: LimitMemory, thread: number): void {
  const all = new Int32Array(locks)
  for (let row = 0; row < rows; row++) Atomics.compareExchange(all, row, thread, 0)
}

export class SharedMemoryRateLimit implements LocalRateLimit {
  readonly #locks: Int32Array
  readonly #keys: Int32Array
  readonly #state: Float64Array
  readonly #seed: readonly [number, number]
  readonly #thread: number
  /** The hash that was last computed. */
  #hashLow = 0
  #hashHigh = 0

  /** `thread` is above 0 and unique. */
  constructor({ locks, keys, state, seed }: LimitMemory, thread: number) {
    this.#locks = new Int32Array(locks)
    this.#keys = new Int32Array(keys)
    this.#state = new Float64Array(state)
    this.#seed = seed
    this.#thread = thread
  }

  consume(subject: string, perMinute: number, monotonicMs: number): RateDecision {
    return this.#update(subject, perMinute, monotonicMs, (before) => {
      const decision = decide(before, perMinute)
      return [decision.allowed ? before + requestUnits : before, decision]
    })
  }

  restore(subject: string, perMinute: number, monotonicMs: number): void {
    this.#update(subject, perMinute, monotonicMs, (before) => [Math.max(0, before - requestUnits), null])
  }

  /** Changes the units of a subject while its row is locked. */
  #update<Result>(
    subject: string,
    perMinute: number,
    monotonicMs: number,
    change: (before: number) => readonly [units: number, result: Result],
  ): Result {
    this.#hash(subject)
    const row = this.#hashLow & (rows - 1)
    this.#lock(row)
    const now = Math.floor(monotonicMs)
    const slot = this.#findSlot(row, now)
    const lastMs = (this.#state[2 * slot + 1] ?? 0) - minuteMs
    // Another thread's clock reading may be slightly ahead of ours.
    const before = decayUnits(this.#state[2 * slot] ?? 0, Math.max(0, now - lastMs), perMinute)
    const [units, result] = change(before)
    this.#state[2 * slot] = units
    this.#state[2 * slot + 1] = Math.max(now, lastMs) + minuteMs
    Atomics.store(this.#locks, row, 0)
    return result
  }

  /** The subject's slot, existing or newly assigned. */
  #findSlot(row: number, now: number): number {
    const first = row * slotsPerRow
    let oldest = first
    for (let slot = first; slot < first + slotsPerRow; slot++) {
      if (this.#keys[2 * slot] === this.#hashLow && this.#keys[2 * slot + 1] === this.#hashHigh) return slot
      if ((this.#state[2 * slot + 1] ?? 0) < (this.#state[2 * oldest + 1] ?? 0)) oldest = slot
    }
    this.#keys[2 * oldest] = this.#hashLow
    this.#keys[2 * oldest + 1] = this.#hashHigh
    this.#state[2 * oldest] = 0
    this.#state[2 * oldest + 1] = now
    return oldest
  }

  #lock(row: number): void {
    for (let tries = 1; ; tries++) {
      const holder = Atomics.compareExchange(this.#locks, row, 0, this.#thread)
      if (holder === 0) return
      if (tries % maxSpins === 0) Atomics.wait(this.#locks, row, holder, pauseMs)
    }
  }

  #hash(subject: string): void {
    let [one, other] = this.#seed
    for (let i = 0; i < subject.length; i++) {
      const code = subject.charCodeAt(i)
      one = Math.imul(one ^ code, 0x9e3779b1)
      other = Math.imul(other ^ code, 0x5f356495)
    }
    one = Math.imul(one ^ (one >>> 16), 0x85ebca6b) ^ Math.imul(other ^ (other >>> 13), 0xc2b2ae35)
    other = Math.imul(other ^ (other >>> 16), 0x85ebca6b) ^ Math.imul(one ^ (one >>> 13), 0xc2b2ae35)
    this.#hashLow = one | 0
    this.#hashHigh = other | 0
  }
}
