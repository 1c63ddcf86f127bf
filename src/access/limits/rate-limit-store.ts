/** The store of a rate limit that several nodes count together. */

/** One subject's requests of one round of the event loop. */
export interface RateLimitRequest {
  readonly subject: string
  readonly perMinute: number
  readonly count: number
}

/** Requests nothing, but is written like any other request: a store that answers it can count, not only respond. */
export const probe: readonly RateLimitRequest[] = [{ subject: 'probe', perMinute: 1, count: 0 }]

export interface RateLimitStore {
  /**
   * Counts the requests of each subject that still fit, by the store's own clock, atomically; a negative count gives requests back. Returns the units that each subject had used
   * before (`limits.ts`), in the order of the requests. A subject occurs once.
   */
  consume(requests: readonly RateLimitRequest[]): Promise<readonly number[]>
  /** Pending requests are no longer awaited. */
  close(): void
}
