/**
 * Limits retries to a tenth of the turns of the last minute, so that they do not bury a failing upstream; a quiet gateway may still retry a
 * few times. The caller passes the time in milliseconds.
 *
 * Retries that cost the upstream nothing (no connection, no free slot) do not count: a turn makes as many of those as there are targets.
 */
import { RollingCount } from './rolling-count.ts'

export class RetryBudget {
  readonly #turns = new RollingCount(windowOptions)
  readonly #retries = new RollingCount(windowOptions)

  /** Records a turn's first attempt. */
  earn(now: number): void {
    this.#turns.add(now)
  }

  /** Spends a retry if one is left. */
  spend(now: number): boolean {
    const allowedRetries = Math.max(minRetries, Math.floor(retryRatio * this.#turns.total(now)))
    if (this.#retries.total(now) >= allowedRetries) return false
    this.#retries.add(now)
    return true
  }
}

/** In which turns and retries count. */
const windowOptions = { windowMs: 60_000, steps: 12 }
/** Retries per turn in the window. */
const retryRatio = 0.1
/** Retries that are always available per window. */
const minRetries = 3
