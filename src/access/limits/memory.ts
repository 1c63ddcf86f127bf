/** Requests a minute in the memory of one thread: the default. */
import type { OwnLimits, OwnRateLimit, RateDecision } from './limits.ts'
import { decide, minuteMs, requestUnits, unitsLeft } from './limits.ts'
import { ConcurrencyLimiter } from './running.ts'

const sweepEveryMs = 30_000

/** What a subject has used and not had back, at the millisecond at which it was last looked at. */
interface Used {
  units: number
  at: number
}

/** GCRA with a burst of one minute's worth: a member may spend the minute at once and then waits for it to refill evenly. */
export class RateLimiter implements OwnRateLimit {
  readonly #used = new Map<string, Used>()
  #sweptAt = 0

  take(subject: string, perMinute: number, ticks: number): RateDecision {
    const now = Math.floor(ticks)
    this.#sweep(now)
    const known = this.#used.get(subject)
    const before = known === undefined ? 0 : unitsLeft(known.units, now - known.at, perMinute)
    const decision = decide(before, perMinute)
    const units = decision.allowed ? before + requestUnits : before
    if (known === undefined) this.#used.set(subject, { units, at: now })
    else {
      known.units = units
      known.at = now
    }
    return decision
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

export function createLimits(): OwnLimits {
  return { byAddress: new RateLimiter(), byAccount: new RateLimiter(), running: new ConcurrencyLimiter(), elsewhere: null }
}
