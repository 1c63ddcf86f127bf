/**
 * Tells whether the client is the slow side of a call. Everything that depends on it asks here.
 *
 * Pure: all times are `activeMs` of a clock, so that a pause of the machine makes no client slow.
 */

/** A shorter delay is one that a quick client causes as well. */
const minDelayMs = 300
/** A delay counts for so many times its length after the client reads again: what the upstream gave up meanwhile is noticed only then. */
const recoveryFactor = 4
/** Longer delays count as this: the client is the slow side for at most 20 s after its last delay. */
const maxDelayMs = 5_000

export class ClientPace {
  #isBlocked = false
  /** How long the client has delayed the answer, less a part of the time in which it was reading. */
  #delayMs = 0
  /** From `minDelayMs` on, until nothing is left of the delay. */
  #isSlow = false
  /** When `#delayMs` was computed. */
  #updatedAt = 0

  /** The client applies backpressure. */
  recordBlocked(now: number): void {
    this.#update(now)
    this.#isBlocked = true
  }

  /** The client has drained. */
  recordDrain(now: number): void {
    this.#update(now)
    this.#isBlocked = false
  }

  /** Whether the answer waits for the client, or did so long enough until shortly before. */
  isSlow(now: number): boolean {
    this.#update(now)
    return this.#isSlow
  }

  #update(now: number): void {
    const elapsedMs = now - this.#updatedAt
    this.#updatedAt = now
    this.#delayMs = this.#isBlocked
      ? Math.min(maxDelayMs, this.#delayMs + elapsedMs)
      : Math.max(0, this.#delayMs - elapsedMs / recoveryFactor)
    if (this.#delayMs >= minDelayMs) this.#isSlow = true
    else if (this.#delayMs === 0) this.#isSlow = false
  }
}
