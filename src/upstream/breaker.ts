/** Circuit breaker on a failure rate, and the retry budget: both keep one bad target from becoming everybody's trouble. */

export type BreakerState = 'closed' | 'open' | 'half_open'

export interface BreakerOptions {
  /** The window in which calls are counted. */
  readonly windowMs: number
  /** Fewer calls than this in the window say nothing. */
  readonly minimumCalls: number
  /** Share of failures at which it opens. */
  readonly failureRate: number
  /** How long it stays open before one call may try, and between such tries. */
  readonly probeEveryMs: number
}

export const breakerDefaults: BreakerOptions = { windowMs: 10_000, minimumCalls: 10, failureRate: 0.5, probeEveryMs: 1_000 }

/** Time is whole: the window is cut into ten slices that are forgotten one at a time. */
const slices = 10

export class Breaker {
  readonly #options: BreakerOptions
  readonly #succeeded = new Array<number>(slices).fill(0)
  readonly #failed = new Array<number>(slices).fill(0)
  #slice = 0
  /** When it opened or last let a probe through; null while closed. */
  #openedAt: number | null = null
  #probing = false

  constructor(options: BreakerOptions = breakerDefaults) {
    this.#options = options
  }

  /** Whether a call may go now. Once a second an open breaker lets one through to see. */
  allows(now: number): boolean {
    if (this.#openedAt === null) return true
    if (now - this.#openedAt < this.#options.probeEveryMs) return false
    this.#openedAt = now
    this.#probing = true
    return true
  }

  /** Whether a call would be let through, without claiming the probe. */
  wouldAllow(now: number): boolean {
    return this.#openedAt === null || now - this.#openedAt >= this.#options.probeEveryMs
  }

  record(ok: boolean, now: number): void {
    if (this.#openedAt !== null) {
      // Calls from before it opened say nothing new; the probe decides.
      if (!this.#probing) return
      this.#probing = false
      if (ok) this.#close()
      else this.#openedAt = now
      return
    }
    this.#advance(now)
    const at = this.#slice % slices
    if (ok) this.#succeeded[at] = (this.#succeeded[at] ?? 0) + 1
    else this.#failed[at] = (this.#failed[at] ?? 0) + 1
    if (!ok && this.#shouldOpen()) this.#openedAt = now
  }

  state(now: number): BreakerState {
    if (this.#openedAt === null) return 'closed'
    return this.#probing || now - this.#openedAt >= this.#options.probeEveryMs ? 'half_open' : 'open'
  }

  #shouldOpen(): boolean {
    const failed = this.#failed.reduce((sum, count) => sum + count, 0)
    const calls = failed + this.#succeeded.reduce((sum, count) => sum + count, 0)
    return calls >= this.#options.minimumCalls && failed / calls >= this.#options.failureRate
  }

  #close(): void {
    this.#openedAt = null
    this.#succeeded.fill(0)
    this.#failed.fill(0)
  }

  #advance(now: number): void {
    const slice = Math.floor(now / (this.#options.windowMs / slices))
    const passed = Math.min(slice - this.#slice, slices)
    for (let i = 1; i <= passed; i++) {
      this.#succeeded[(this.#slice + i) % slices] = 0
      this.#failed[(this.#slice + i) % slices] = 0
    }
    this.#slice = slice
  }
}

/** Retries are paid from a share of ordinary calls, so that an outage is never answered with a storm of its own making. */
export class RetryBudget {
  readonly #share: number
  readonly #perSecond: number
  readonly #most: number
  #tokens: number
  #refilledAt: number | null = null

  /** `share` of calls may be retried, and `perSecond` in any case. */
  constructor(share = 0.2, perSecond = 3) {
    this.#share = share
    this.#perSecond = perSecond
    this.#most = perSecond * 10
    this.#tokens = this.#most
  }

  /** A first attempt: it earns a share of a retry. */
  earn(): void {
    this.#tokens = Math.min(this.#most, this.#tokens + this.#share)
  }

  /** True when a retry may be made now; it is then spent. */
  spend(now: number): boolean {
    const since = this.#refilledAt === null ? 0 : now - this.#refilledAt
    this.#refilledAt = now
    this.#tokens = Math.min(this.#most, this.#tokens + (Math.max(0, since) / 1000) * this.#perSecond)
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }
}
