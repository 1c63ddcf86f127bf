/** Requests per minute in the memory of one thread: the default. */
import { systemClock } from '../../system/clock.ts'
import type { BodyBudgetBounds } from './body-budget.ts'
import { ConcurrencyLimiter } from './concurrency-limiter.ts'
import type { ConcurrencyLimiterOptions } from './concurrency-limiter.ts'
import type { LocalLimits, LocalRateLimit, RateDecision } from './limits.ts'
import { decide, minuteMs, requestUnits, decayUnits } from './limits.ts'
import { CostlyMedia } from './costly-media.ts'
import { createProcessBudgetMemory, openProcessBudgets } from './process-budgets.ts'
import type { ProcessBudgetMemory } from './process-budgets.ts'
import { RetryTimes } from './retry-times.ts'

const sweepEveryMs = 30_000

/** Units that a subject has used and not regained, at the millisecond of its last update. */
interface Usage {
  units: number
  at: number
}

/** GCRA with a burst of one minute: a member may use the whole minute at once and then waits for it to refill evenly. */
export class MemoryRateLimit implements LocalRateLimit {
  readonly #usage = new Map<string, Usage>()
  #sweptAt = 0

  consume(subject: string, perMinute: number, monotonicMs: number): RateDecision {
    const now = Math.floor(monotonicMs)
    this.#sweep(now)
    const usage = this.#usage.get(subject)
    const before = usage === undefined ? 0 : decayUnits(usage.units, now - usage.at, perMinute)
    const decision = decide(before, perMinute)
    const units = decision.allowed ? before + requestUnits : before
    if (usage === undefined) this.#usage.set(subject, { units, at: now })
    else {
      usage.units = units
      usage.at = now
    }
    return decision
  }

  restore(subject: string, perMinute: number, monotonicMs: number): void {
    const usage = this.#usage.get(subject)
    if (usage === undefined) return
    const now = Math.floor(monotonicMs)
    usage.units = Math.max(0, decayUnits(usage.units, now - usage.at, perMinute) - requestUnits)
    usage.at = now
  }

  get size(): number {
    return this.#usage.size
  }

  /** Subjects whose limit is whole again need no memory; after a minute every one is. */
  #sweep(now: number): void {
    if (now - this.#sweptAt < sweepEveryMs) return
    this.#sweptAt = now
    for (const [subject, { at }] of this.#usage) if (now - at >= minuteMs) this.#usage.delete(subject)
  }
}

/** What the serving threads of one process count together. */
export interface SharedLimits extends Pick<LocalLimits, 'byAddress' | 'byAccount'> {
  readonly budgets: ProcessBudgetMemory
  /** From 0. */
  readonly thread: number
}

/** The bounds of `limits` in the configuration; the defaults are those of tests that bound nothing. */
interface LocalLimitOptions extends ConcurrencyLimiterOptions {
  readonly bodies?: BodyBudgetBounds
}

export function createLocalLimits(
  { maxWaitMs, bodies = unlimitedBodies, clock = systemClock }: LocalLimitOptions = { maxWaitMs: 0 },
  { byAddress, byAccount, budgets, thread }: SharedLimits = createLimitsOfOneThread(),
): LocalLimits {
  return {
    byAddress,
    byAccount,
    concurrency: new ConcurrencyLimiter({ maxWaitMs, clock }),
    ...openProcessBudgets(budgets, thread, { bodies, maxWaitMs, clock }),
    retryTimes: new RetryTimes(),
    costlyMedia: new CostlyMedia(),
    distributed: null,
  }
}

function createLimitsOfOneThread(): SharedLimits {
  return {
    byAddress: new MemoryRateLimit(),
    byAccount: new MemoryRateLimit(),
    budgets: createProcessBudgetMemory(1),
    thread: 0,
  }
}

const unlimitedBodies: BodyBudgetBounds = {
  perAccountBytes: Number.POSITIVE_INFINITY,
  perAddressBytes: Number.POSITIVE_INFINITY,
  totalBytes: Number.POSITIVE_INFINITY,
}
