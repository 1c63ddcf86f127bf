/**
 * Request limits that the threads of one process share: the same counting as in `limits.ts`, in memory of fixed size that all of them see.
 * A subject is known by 64 bits of a keyed hash. It has a place in a row of eight; where all eight are in use the one that was asked for
 * longest ago goes, which takes some hundred thousand subjects within a minute.
 */
import type { OwnRateLimit, RateDecision } from './limits.ts'
import { decide, minuteMs, requestUnits, unitsLeft } from './limits.ts'

const places = 8
const rows = 32_768
/** How often a row is asked for before its holder is left some time: longer than anybody ever holds one who has a core to run on. */
const spins = 200
const pauseMs = 1

/** To be handed to each thread. */
export interface LimitMemory {
  /** Which thread is at work in each row; 0: none. */
  readonly locks: SharedArrayBuffer
  /** Two halves of the hash for each place. */
  readonly keys: SharedArrayBuffer
  /** For each place its units, and when every limit is whole again; 0: nobody has had it. */
  readonly figures: SharedArrayBuffer
  readonly seed: readonly [number, number]
}

export function limitMemory(seed: readonly [number, number]): LimitMemory {
  return {
    locks: new SharedArrayBuffer(rows * 4),
    keys: new SharedArrayBuffer(rows * places * 2 * 4),
    figures: new SharedArrayBuffer(rows * places * 2 * 8),
    seed,
  }
}

/** A thread that ended in the middle of its work holds its row no longer. */
export function letGo({ locks }: LimitMemory, thread: number): void {
  const all = new Int32Array(locks)
  for (let row = 0; row < rows; row++) Atomics.compareExchange(all, row, thread, 0)
}

export class SharedRateLimiter implements OwnRateLimit {
  readonly #locks: Int32Array
  readonly #keys: Int32Array
  readonly #figures: Float64Array
  readonly #seed: readonly [number, number]
  readonly #thread: number
  /** The hash last asked for. */
  #one = 0
  #other = 0

  /** `thread` is above 0, and another one for each. */
  constructor({ locks, keys, figures, seed }: LimitMemory, thread: number) {
    this.#locks = new Int32Array(locks)
    this.#keys = new Int32Array(keys)
    this.#figures = new Float64Array(figures)
    this.#seed = seed
    this.#thread = thread
  }

  take(subject: string, perMinute: number, ticks: number): RateDecision {
    this.#hash(subject)
    const row = this.#one & (rows - 1)
    this.#lock(row)
    const now = Math.floor(ticks)
    const place = this.#placeIn(row, now)
    const then = (this.#figures[2 * place + 1] ?? 0) - minuteMs
    // Another thread's look at the clock may be a little ahead of ours.
    const before = unitsLeft(this.#figures[2 * place] ?? 0, Math.max(0, now - then), perMinute)
    const decision = decide(before, perMinute)
    this.#figures[2 * place] = decision.allowed ? before + requestUnits : before
    this.#figures[2 * place + 1] = Math.max(now, then) + minuteMs
    Atomics.store(this.#locks, row, 0)
    return decision
  }

  /** Its place, or the one that it gets. */
  #placeIn(row: number, now: number): number {
    const first = row * places
    let oldest = first
    for (let place = first; place < first + places; place++) {
      if (this.#keys[2 * place] === this.#one && this.#keys[2 * place + 1] === this.#other) return place
      if ((this.#figures[2 * place + 1] ?? 0) < (this.#figures[2 * oldest + 1] ?? 0)) oldest = place
    }
    this.#keys[2 * oldest] = this.#one
    this.#keys[2 * oldest + 1] = this.#other
    this.#figures[2 * oldest] = 0
    this.#figures[2 * oldest + 1] = now
    return oldest
  }

  #lock(row: number): void {
    for (let tries = 1; ; tries++) {
      const holder = Atomics.compareExchange(this.#locks, row, 0, this.#thread)
      if (holder === 0) return
      if (tries % spins === 0) Atomics.wait(this.#locks, row, holder, pauseMs)
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
    this.#one = one | 0
    this.#other = other | 0
  }
}
