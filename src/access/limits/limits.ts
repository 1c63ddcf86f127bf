/**
 * Request limits in constant memory per subject: GCRA (the generic cell rate algorithm), two numbers each. The numbers are stored in one
 * thread's memory (`memory.ts`), in memory that a process's threads share (`shared-memory.ts`), or in a store that all nodes use; this file
 * interprets them. Limits that must survive a restart (sign-in, codes) are counted in the database instead.
 */
import type { RateDecision } from '../../exchange/plugins/plugin-services.ts'
import type { CostlyMedia } from './costly-media.ts'
import type { ConcurrencyLimiter } from './concurrency-limiter.ts'
import type { RetryTimes } from './retry-times.ts'
import type { BodyBudget } from './body-budget.ts'
import type { TokenCountLimiter } from './token-count-limiter.ts'

export type { RateDecision }

export const minuteMs = 60_000

/**
 * The cost of one request in the unit in which usage is counted: a limit of `n` per minute pays back `n` units each millisecond.
 *
 * Integers only: every limit refills by an integer each millisecond, and no limit admits one request too few because of rounding. The stored
 * numbers do not depend on the limit, which may be another one at the next request.
 */
export const requestUnits = minuteMs

/** The units left after `ms` milliseconds. Never more than one minute's worth: a subject with a new smaller limit waits for that limit, not for the previous one. */
export function decayUnits(units: number, ms: number, perMinute: number): number {
  return Math.min(Math.max(0, units - ms * perMinute), perMinute * requestUnits)
}

/** Decides on a request given the units used before it; an allowed request uses `requestUnits` more. */
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

/** Requests per minute. `monotonicMs` never goes back: by the wall clock, a step back would grant a whole new minute. */
export interface RateLimit {
  /** Returns a promise only if another process decides: a local decision costs no turn of the event loop. Never rejects. */
  consume(subject: string, perMinute: number, monotonicMs: number): RateDecision | Promise<RateDecision>
  /** Gives back an allowed request that was refused for another reason. */
  restore(subject: string, perMinute: number, monotonicMs: number): void
}

/** A limit counted in this process. */
export interface LocalRateLimit extends RateLimit {
  consume(subject: string, perMinute: number, monotonicMs: number): RateDecision
}

/** Statistics of limits that all nodes count together. */
export interface DistributedRateLimitStats {
  readonly name: string
  /** Since when each node allows its share alone, in milliseconds since the epoch; null: all nodes count together. */
  readonly unavailableSince: number | null
  /** Requests decided by this node's share, in total. */
  readonly fallbacks: number
  /** Number of nodes among which the limits are then divided. */
  readonly nodes: number
}

export interface Limits {
  readonly byAddress: RateLimit
  readonly byAccount: RateLimit
  readonly concurrency: ConcurrencyLimiter
  readonly tokenCounts: TokenCountLimiter
  /** Bytes of request bodies that are being received or wait to be parsed. */
  readonly bodies: BodyBudget
  readonly retryTimes: RetryTimes
  readonly costlyMedia: CostlyMedia
  /** Statistics of the shared count; null: each process counts for itself. */
  readonly distributed: { readonly stats: DistributedRateLimitStats; close(): void } | null
}

/** The limits of one process, which always exist. */
export interface LocalLimits extends Limits {
  readonly byAddress: LocalRateLimit
  readonly byAccount: LocalRateLimit
}

/** Both families of rate-limit headers: OpenAI's and the IETF draft's (`RateLimit-Policy`, `RateLimit`). */
export function toRateLimitHeaders(name: string, decision: RateDecision): Record<string, string> {
  const seconds = Math.ceil((decision.allowed ? decision.resetMs : decision.retryAfterMs) / 1000)
  return {
    'x-ratelimit-limit-requests': String(decision.limit),
    'x-ratelimit-remaining-requests': String(decision.remaining),
    'x-ratelimit-reset-requests': `${(decision.resetMs / 1000).toFixed(3)}s`,
    'ratelimit-policy': `"${name}";q=${decision.limit};w=60`,
    ratelimit: `"${name}";r=${decision.remaining};t=${seconds}`,
  }
}
