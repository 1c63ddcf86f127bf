/**
 * Accounts whose files cost more than their size, pages or seconds promised. For a day, their turns reserve the product's context for files.
 * Each serving thread learns by itself, and forgets at a restart.
 */
import { LRUCache } from 'lru-cache'

const rememberedMs = 24 * 60 * 60 * 1000
/** About 2 MB. */
const maxAccounts = 10_000

export class CostlyMedia {
  /** Time of the last such turn. */
  readonly #accounts = new LRUCache<string, number>({ max: maxAccounts })

  has(account: string, monotonicMs: number): boolean {
    const recordedMs = this.#accounts.get(account)
    return recordedMs !== undefined && monotonicMs - recordedMs < rememberedMs
  }

  add(account: string, monotonicMs: number): void {
    this.#accounts.set(account, monotonicMs)
  }
}
