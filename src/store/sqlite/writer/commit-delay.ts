/**
 * Delays the next group commit while the event loop keeps producing operations. A commit costs two thread wake-ups and its WAL
 * pages regardless of size. Idle: no delay. Bounds: 128 operations, 5 empty loop turns, 8 ms. Compare PostgreSQL `commit_delay`.
 */
import { systemClock } from '../../../system/clock.ts'

/** After a smaller batch the load is low and waiting gains nothing. */
const minBatchSize = 4
const maxOperations = 128
/** Loop turns without a new operation; the work of such a turn may still produce one. */
const maxIdleTurns = 5
const maxDelayMs = 8

export class CommitDelay {
  readonly #now: () => number
  #lastBatchAt = -Infinity
  #lastBatchSize = 0
  /** Queue length at the previous call, and the number of calls since it last grew. */
  #lastWaiting = 0
  #idleTurns = 0

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number = () => systemClock.monotonicMs()) {
    this.#now = now
  }

  /** Whether to wait for more operations. Call once in each turn of the event loop. */
  shouldWait(waiting: number): boolean {
    if (this.#lastBatchSize < minBatchSize || waiting >= maxOperations || this.#now() - this.#lastBatchAt >= maxDelayMs)
      return false
    this.#idleTurns = waiting > this.#lastWaiting ? 0 : this.#idleTurns + 1
    this.#lastWaiting = waiting
    return this.#idleTurns < maxIdleTurns
  }

  recordBatch(count: number): void {
    this.#lastBatchAt = this.#now()
    this.#lastBatchSize = count
    this.#lastWaiting = 0
    this.#idleTurns = 0
  }
}
