/** Counters that survive a restart, for everything that could be guessed or flooded. One number and one instant a subject. */

export interface Count {
  /** With this one. */
  readonly count: number
  readonly resetsAt: number
}

export interface Counters {
  /** Counts one more in the subject's running window, or begins a new window. One step, also among processes. */
  take(subject: string, windowMs: number, now: number): Promise<Count>
  /** Takes one back: what was counted turned out to be harmless. */
  giveBack(subject: string): Promise<void>
  sweep(at: number): Promise<void>
}

/** How often within which time. */
export interface Allowance {
  readonly times: number
  readonly withinMs: number
}
