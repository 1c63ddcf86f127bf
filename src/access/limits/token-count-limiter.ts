/** The token counts of each account: how many run at once in the process, and which wait. They cost no credits, so no hold counts them. */
import { ConcurrencyLimiter } from './concurrency-limiter.ts'
import type { ConcurrencyLimiterOptions } from './concurrency-limiter.ts'
import type { Clock } from '../../system/clock.ts'
import { systemClock } from '../../system/clock.ts'
import type { SharedBudget } from './shared-budget.ts'

export const maxTokenCountsAtOnce = 4
/** Agents count the parts of a conversation by the dozen; a count that waits has not been read. */
const maxWaitingCounts = 64
/** How often a count asks whether another thread has a free slot. */
const retryMs = 20

export class TokenCountLimiter {
  readonly #own: ConcurrencyLimiter
  readonly #budget: SharedBudget
  readonly #maxWaitMs: number
  readonly #clock: Clock

  constructor({ budget, maxWaitMs, clock = systemClock }: ConcurrencyLimiterOptions & { readonly budget: SharedBudget }) {
    this.#own = new ConcurrencyLimiter({ maxWaitMs, clock })
    this.#budget = budget
    this.#maxWaitMs = maxWaitMs
    this.#clock = clock
  }

  /** False if no slot is free now, or others wait for one. */
  acquire(account: string): boolean {
    if (!this.#own.acquire(account, maxTokenCountsAtOnce)) return false
    if (this.#takeShared(account)) return true
    this.#own.release(account)
    return false
  }

  /** Waits for a slot; false if there is none in time. Rejects with `ClientDisconnected`. */
  async wait(account: string, onDisconnect: (listener: () => void) => void): Promise<boolean> {
    const isFree = this.#own.acquire(account, maxTokenCountsAtOnce)
    if (!isFree && !(await this.#own.wait(account, maxTokenCountsAtOnce, onDisconnect, maxWaitingCounts))) return false
    if (await this.#waitForShared(account)) return true
    this.#own.release(account)
    return false
  }

  release(account: string): void {
    this.#budget.give(account, 1)
    this.#own.release(account)
  }

  #takeShared(account: string): boolean {
    return this.#budget.take(account, 1, { max: maxTokenCountsAtOnce, maxTotal: Number.POSITIVE_INFINITY }) === 'taken'
  }

  /** Other threads do not report a free slot. */
  async #waitForShared(account: string): Promise<boolean> {
    for (let waitedMs = 0; ; waitedMs += retryMs) {
      if (this.#takeShared(account)) return true
      if (waitedMs >= this.#maxWaitMs) return false
      await this.#clock.wait(retryMs)
    }
  }
}
