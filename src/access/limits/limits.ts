/**
 * Request limits in constant memory a subject: GCRA (the generic cell rate algorithm), two numbers each. They are kept in one thread's memory
 * (`memory.ts`), in what the threads of a process share (`shared.ts`), or where all nodes can ask; what the numbers mean is decided here.
 * Counters that must survive a restart (sign-in, codes) live in the store instead.
 */
import { GatewayError } from '../../errors.ts'
import type { ConcurrencyLimiter } from './running.ts'

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

export const minuteMs = 60_000

/**
 * What one request costs, in the unit in which everything is counted: a limit of `n` a minute pays `n` of them back each millisecond.
 *
 * Whole numbers only: so every limit refills by a whole number of them each millisecond, and none admits one too few for a rounding error.
 * What is kept does not depend on the limit, which may be another one at the next request.
 */
export const requestUnits = minuteMs

/** Of so many units, what is not had back after so many milliseconds. Never more than the minute: who has just got a smaller limit waits for that one, not for the one before. */
export function unitsLeft(units: number, ms: number, perMinute: number): number {
  return Math.min(Math.max(0, units - ms * perMinute), perMinute * requestUnits)
}

/** What becomes of a request where so many units were used before it; where it is allowed it uses one request's more. */
export function decide(before: number, perMinute: number): RateDecision {
  const burst = perMinute * requestUnits
  const after = before + requestUnits
  const allowed = after <= burst
  return {
    allowed,
    limit: perMinute,
    remaining: allowed ? Math.floor((burst - after) / requestUnits) : 0,
    resetMs: Math.ceil((allowed ? after : before) / perMinute),
    retryAfterMs: allowed ? 0 : Math.ceil((after - burst) / perMinute),
  }
}

/** Requests a minute. `ticks` are of the clock that never goes back: by the other one a step back would give a whole new minute. */
export interface RateLimit {
  /** A promise only where somebody else must be asked: what is counted here costs no turn of the event loop. Never rejects. */
  take(subject: string, perMinute: number, ticks: number): RateDecision | Promise<RateDecision>
}

/** One that is counted in this process. */
export interface OwnRateLimit extends RateLimit {
  take(subject: string, perMinute: number, ticks: number): RateDecision
}

/** What is told of a book where all nodes count together. */
export interface ElsewhereVitals {
  readonly name: string
  /** Since when each node allows its share alone, in milliseconds since the epoch; null: all are counted together. */
  readonly lostSince: number | null
  /** Requests that were decided so, ever. */
  readonly alone: number
  /** Over how many nodes limits are shared out then. */
  readonly nodes: number
}

export interface Limits {
  readonly byAddress: RateLimit
  readonly byAccount: RateLimit
  readonly running: ConcurrencyLimiter
  /** Where all nodes count together; null: each for itself. */
  readonly elsewhere: { readonly vitals: ElsewhereVitals; close(): void } | null
}

/** A process's own, which it has in any case. */
export interface OwnLimits extends Limits {
  readonly byAddress: OwnRateLimit
  readonly byAccount: OwnRateLimit
}

/** As many of an account's turns run as its plan lets run at once. */
export function tooManyAtOnce(limit: number): GatewayError {
  return new GatewayError('rate_limited', {
    retryAfter: 1,
    message: {
      en: `Your plan runs ${limit} requests at once. Please wait for one to finish.`,
      zh: `你的套餐最多同时运行 ${limit} 个请求,请等待其中一个完成。`,
    },
  })
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
