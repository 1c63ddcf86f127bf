/**
 * Spreads the times at which refused clients of one account may come back. Without it all of them return at the same moment, when there is
 * room for one.
 */
interface RetryTime {
  /** Time until one more request is allowed. */
  readonly earliestMs: number
  /** Time between one more request and the next. */
  readonly stepMs: number
}

/** Official SDKs ignore a longer wait, so the times start again from the earliest. */
const maxRetryMs = 60_000
const maxSubjects = 10_000

export class RetryTimes {
  /** The time that was promised last, on the monotonic clock. */
  readonly #promisedMs = new Map<string, number>()

  /** Milliseconds until the next refused client of this subject may retry. */
  next(subject: string, { earliestMs, stepMs }: RetryTime, monotonicMs: number): number {
    const earliest = monotonicMs + earliestMs
    const later = Math.max(earliest, (this.#promisedMs.get(subject) ?? Number.NEGATIVE_INFINITY) + stepMs)
    const promisedMs = later - monotonicMs > Math.max(earliestMs, maxRetryMs) ? earliest : later
    if (this.#promisedMs.size >= maxSubjects && !this.#promisedMs.has(subject)) this.#promisedMs.clear()
    this.#promisedMs.set(subject, promisedMs)
    return promisedMs - monotonicMs
  }
}
