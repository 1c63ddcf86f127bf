/**
 * Request limits in constant memory a subject: GCRA (the generic cell rate algorithm), one number each, and a count of turns that run.
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

/** GCRA with a burst of one minute's worth: a member may spend the minute at once and then waits for it to refill evenly. */
export class RateLimiter {
  /** The theoretical arrival time of each subject: when all that it has used will have been refilled. */
  readonly #arrival = new Map<string, number>()
  #sweptAt = 0

  take(subject: string, perMinute: number, now: number): RateDecision {
    this.#sweep(now)
    const interval = minuteMs / perMinute
    const known = this.#arrival.get(subject) ?? 0
    // Nobody can be ahead by more than a minute's worth; who seems to be was seen before the clock was set back.
    const arrival = known > now + minuteMs ? now : Math.max(known, now)
    const next = arrival + interval
    const over = next - now - minuteMs
    // A whole interval's rounding error must not cost a member a request.
    if (over > 1e-6) {
      return { allowed: false, limit: perMinute, remaining: 0, resetMs: arrival - now, retryAfterMs: over }
    }
    this.#arrival.set(subject, next)
    return {
      allowed: true,
      limit: perMinute,
      remaining: Math.floor((minuteMs - (next - now)) / interval + 1e-6),
      resetMs: next - now,
      retryAfterMs: 0,
    }
  }

  get size(): number {
    return this.#arrival.size
  }

  /** Subjects whose minute is whole again need no memory. */
  #sweep(now: number): void {
    if (now - this.#sweptAt < sweepEveryMs && now >= this.#sweptAt) return
    this.#sweptAt = now
    for (const [subject, arrival] of this.#arrival) if (arrival <= now) this.#arrival.delete(subject)
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
