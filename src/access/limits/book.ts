/** Where several nodes count together: all that a database must do for it. */

/** One subject's requests of one round of the event loop. */
export interface Ask {
  readonly subject: string
  readonly perMinute: number
  readonly count: number
}

/** Asks for nothing, for nobody, and is written down like any other: a book that answers it can count, and not only speak. */
export const proof: readonly Ask[] = [{ subject: 'nobody', perMinute: 1, count: 0 }]

export interface LimitBook {
  /**
   * Writes down of each subject's requests those that still fit, by the database's own clock, in one step that nobody else's come between.
   * Gives what each had used before, in the order of the asks, in the units of `limits.ts`; no subject stands among them twice.
   */
  take(asks: readonly Ask[]): Promise<readonly number[]>
  /** Nobody waits any more for what was asked. */
  close(): void
}
