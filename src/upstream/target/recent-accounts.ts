/**
 * The accounts whose calls to one target ended lately. They tell a failing target from a request that makes it fail: a target fails the calls
 * of several accounts, a request only those of the account that sends it. The caller passes the time in milliseconds.
 */
import { Breaker } from './breaker.ts'
import type { BreakerOptions } from './breaker.ts'

/** How long the end of a call tells how its account fares at the target. */
const accountWindowMs = 60_000
/** So many failing accounts are several, however many others succeed. With fewer active accounts, all of them must fail. */
const severalAccounts = 5
/** Accounts that are remembered for one target. The one whose last call ended first is forgotten first. */
const maxAccounts = 1_000

interface RecentAccount {
  endedAt: number
  /** Whether the last call failed in a way that its request may have caused. */
  failed: boolean
  /** Counts the account's own failures; null while it has none. */
  breaker: Breaker | null
}

export class RecentAccounts {
  readonly #options: Partial<BreakerOptions>
  /** In the order of their last calls, the oldest first. */
  readonly #accounts = new Map<string, RecentAccount>()

  constructor(options: Partial<BreakerOptions>) {
    this.#options = options
  }

  get size(): number {
    return this.#accounts.size
  }

  /** The breaker of the account's own failures; undefined if it has none. */
  getBreaker(account: string): Breaker | undefined {
    return this.#accounts.get(account)?.breaker ?? undefined
  }

  /** Records the end of a call. @param failed whether it failed in a way that the request may have caused */
  record(account: string, failed: boolean, now: number, startedAt: number): void {
    this.#forgetOld(now)
    const { breaker = null } = this.#accounts.get(account) ?? {}
    const own = breaker ?? (failed ? new Breaker(this.#options) : null)
    own?.record(!failed, now, startedAt)
    const isRecovered = !failed && own?.state(now) === 'closed'
    this.#accounts.delete(account)
    this.#accounts.set(account, { endedAt: now, failed, breaker: isRecovered ? null : own })
    const [oldest] = this.#accounts.keys()
    if (this.#accounts.size > maxAccounts && oldest !== undefined) this.#accounts.delete(oldest)
  }

  /** Whether the last call of this account failed. */
  isFailing(account: string): boolean {
    return this.#accounts.get(account)?.failed === true
  }

  /** Whether so many accounts fail that the target must be the cause. The only active account decides alone. */
  areSeveralFailing(now: number): boolean {
    this.#forgetOld(now)
    return this.#countFailing() >= Math.min(severalAccounts, this.#accounts.size)
  }

  /** Whether a call of this account can tell more than those that failed: they are of few accounts, and not of this one. */
  isUntried(account: string, now: number): boolean {
    this.#forgetOld(now)
    return !this.isFailing(account) && this.#countFailing() < severalAccounts
  }

  #countFailing(): number {
    let failing = 0
    for (const { failed } of this.#accounts.values()) if (failed) failing++
    return failing
  }

  #forgetOld(now: number): void {
    for (const [account, { endedAt }] of this.#accounts) {
      if (now - endedAt <= accountWindowMs) return
      this.#accounts.delete(account)
    }
  }
}
