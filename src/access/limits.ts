/**
 * Request limits in constant memory a subject: GCRA (the generic cell rate algorithm), two numbers each, and a count of turns that run.
 * Per process; counters that must survive a restart (sign-in, codes) live in the store instead.
 */

/** One answer of a limiter. Times are milliseconds. */
export interface RateDecision {
  readonly allowed: boolean
  /** Requests a minute. */
  readonly limit: number
  readonly remaining: number
  /** Until the limit is whole again. */
  readonly resetMs: number
  /** Until one more request fits; 0 when it fits now. */
  readonly retryAfterMs: number
}

const minuteMs = 60_000
const sweepEveryMs = 30_000

/** What one request costs, in the unit in which everything is counted: a limit of `n` a minute pays `n` of them back each millisecond. */
const requestUnits = minuteMs

/** What a subject has used and not had back, at the millisecond at which it was last looked at. */
interface Used {
  units: number
  at: number
}

/**
 * GCRA with a burst of one minute's worth: a member may spend the minute at once and then waits for it to refill evenly.
 *
 * Whole numbers only: with one request as 60 000 units every limit refills by a whole number of them each millisecond, so that no limit
 * admits one too few for a rounding error. What is kept does not depend on the limit, which may be another one at the next request.
 */
export class RateLimiter {
  readonly #used = new Map<string, Used>()
  #sweptAt = 0

  /** @param ticks of the clock that never goes back: by the other one a step back would give a whole new minute */
  take(subject: string, perMinute: number, ticks: number): RateDecision {
    const now = Math.floor(ticks)
    this.#sweep(now)
    const known = this.#used.get(subject)
    const burst = perMinute * requestUnits
    const left = known === undefined ? 0 : known.units - (now - known.at) * perMinute
    // Never more than the minute: who has just got a smaller limit waits for that one, not for the one before.
    const before = Math.min(Math.max(0, left), burst)
    const after = before + requestUnits
    const allowed = after <= burst
    const units = allowed ? after : before
    if (known === undefined) this.#used.set(subject, { units, at: now })
    else {
      known.units = units
      known.at = now
    }
    return {
      allowed,
      limit: perMinute,
      remaining: allowed ? Math.floor((burst - after) / requestUnits) : 0,
      resetMs: Math.ceil(units / perMinute),
      retryAfterMs: allowed ? 0 : Math.ceil((after - burst) / perMinute),
    }
  }

  get size(): number {
    return this.#used.size
  }

  /** Subjects whose minute is whole again need no memory; after a minute every one is. */
  #sweep(now: number): void {
    if (now - this.#sweptAt < sweepEveryMs) return
    this.#sweptAt = now
    for (const [subject, { at }] of this.#used) if (now - at >= minuteMs) this.#used.delete(subject)
  }
}

/** How many turns of each account run now. */
export class ConcurrencyLimiter {
  readonly #running = new Map<string, number>()

  /** False when `limit` run already. */
  enter(subject: string, limit: number): boolean {
    const running = this.#running.get(subject) ?? 0
    if (running >= limit) return false
    this.#running.set(subject, running + 1)
    return true
  }

  leave(subject: string): void {
    const running = (this.#running.get(subject) ?? 1) - 1
    if (running <= 0) this.#running.delete(subject)
    else this.#running.set(subject, running)
  }

  get size(): number {
    return this.#running.size
  }
}

export interface Limits {
  readonly byAddress: RateLimiter
  readonly byAccount: RateLimiter
  readonly running: ConcurrencyLimiter
}

export function createLimits(): Limits {
  return { byAddress: new RateLimiter(), byAccount: new RateLimiter(), running: new ConcurrencyLimiter() }
}

/** Both families of rate-limit headers: OpenAI's, and the IETF draft's (`RateLimit-Policy`, `RateLimit`). */
export function rateHeaders(name: string, decision: RateDecision): Record<string, string> {
  const seconds = Math.ceil((decision.allowed ? decision.resetMs : decision.retryAfterMs) / 1000)
  return {
    'x-ratelimit-limit-requests': String(decision.limit),
    'x-ratelimit-remaining-requests': String(decision.remaining),
    'x-ratelimit-reset-requests': `${(decision.resetMs / 1000).toFixed(3)}s`,
    'ratelimit-policy': `"${name}";q=${decision.limit};w=60`,
    ratelimit: `"${name}";r=${decision.remaining};t=${seconds}`,
  }
}
