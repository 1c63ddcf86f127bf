/**
 * Bounds retries to a share of the calls, so that a failing upstream is not buried under the gateway's own second tries: a
 * token bucket that each call fills a little and each retry empties by one. Times are milliseconds, given by the caller.
 */
export class RetryBudget {
  private readonly options: RetryBudgetOptions
  private tokens: number
  private filledAt: number | null = null

  constructor(options: Partial<RetryBudgetOptions> = {}) {
    this.options = { ...usual, ...options }
    this.tokens = this.options.perSecond
  }

  /** Told of each first try. */
  earn(): void {
    this.add(this.options.share)
  }

  /** True if there is a retry to spend, and then it is spent. */
  spend(now: number): boolean {
    // A clock set back gives nothing, and what it repeats is not given twice.
    const elapsedMs = Math.max(0, now - (this.filledAt ?? now))
    this.filledAt = Math.max(now, this.filledAt ?? now)
    this.add((elapsedMs / 1_000) * this.options.perSecond)
    if (this.tokens < 1) return false
    this.tokens--
    return true
  }

  private add(tokens: number): void {
    this.tokens = Math.min(this.options.most, this.tokens + tokens)
  }
}

export interface RetryBudgetOptions {
  /** Retries a call earns, 0 to 1. */
  readonly share: number
  /** Retries earned by time alone, so that a quiet gateway may retry too. */
  readonly perSecond: number
  /** The most that can be saved up, which is the longest burst of retries. */
  readonly most: number
}

const usual: RetryBudgetOptions = { share: 0.2, perSecond: 3, most: 10 }
