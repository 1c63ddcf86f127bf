/**
 * What could be guessed or flooded, written down as it happens: one row for each time, so that "at most so many within so long" holds for
 * every span of that length, not only for those that begin with a window. It survives a restart, and processes share it.
 */

/** At most so many in any span of that length. */
export interface Allowance {
  readonly times: number
  readonly withinMs: number
}

export interface Counters {
  /** Counts one more and gives null; or counts nothing, because it would be one too many, and tells when one is free. One step. */
  take(subject: string, allowance: Allowance, now: number): Promise<number | null>
  /** Takes the newest back: what was counted turned out to be harmless. */
  giveBack(subject: string): Promise<void>
  sweep(at: number): Promise<void>
}
