/**
 * The accounts whose calls to one target ended lately. They tell a failing target from a request that makes it fail: a target fails the calls
 * of several accounts, a request only those of the account that sends it. The caller passes the time in milliseconds.
 */
import { Breaker } from './breaker.ts'
import type { BreakerOptions } from './breaker.ts'
import type { TargetCaller } from './target-caller.ts'

/** How long the end of a call tells how its account fares at the target. */
const accountWindowMs = 60_000
/** So many accounts may belong to one person, whose requests make all of them fail. */
const maxAccountsOfOnePerson = 5
/** A success this soon after another one of its account changes nothing that is remembered. */
const minStepMs = 1_000
/** Accounts that are remembered for one target. The one whose last call ended first is forgotten first. */
const maxAccounts = 1_000

interface RecentAccount {
  endedAt: number
  /** Whether the last call failed in a way that its request may have caused. */
  failed: boolean
  /** Count the account's own failures, by the kind of its requests. Kinds without a failure have none. */
  readonly breakers: Map<string, Breaker>
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

  /** The breaker of the account's own failures with requests of this kind; undefined if there are none. */
  getBreaker(caller: TargetCaller): Breaker | undefined {
    const breakers = this.#accounts.get(caller.account)?.breakers
    return breakers === undefined || breakers.size === 0 ? undefined : breakers.get(caller.kind)
  }

  /** Records the end of a call. @param failed whether it failed in a way that the request may have caused */
  record(caller: TargetCaller, failed: boolean, now: number, startedAt: number): void {
    const { account } = caller
    const before = this.#accounts.get(account)
    if (!failed && before !== undefined && !before.failed && before.breakers.size === 0 && now - before.endedAt < minStepMs)
      return
    this.#forgetOld(now)
    const { kind } = caller
    const { breakers } = this.#accounts.get(account) ?? { breakers: new Map<string, Breaker>() }
    if (failed && !breakers.has(kind)) breakers.set(kind, new Breaker(this.#options))
    const breaker = breakers.get(kind)
    breaker?.record(!failed, now, startedAt)
    if (!failed && breaker?.state(now) === 'closed') breakers.delete(kind)
    this.#accounts.delete(account)
    this.#accounts.set(account, { endedAt: now, failed, breakers })
    const [oldest] = this.#accounts.keys()
    if (this.#accounts.size > maxAccounts && oldest !== undefined) this.#accounts.delete(oldest)
  }

  /** Whether the last call of this account failed. */
  isFailing(account: string): boolean {
    return this.#accounts.get(account)?.failed === true
  }

  /** The same, unless that was too long ago to matter. */
  hasJustFailed(account: string, now: number): boolean {
    const recent = this.#accounts.get(account)
    return recent !== undefined && recent.failed && now - recent.endedAt <= accountWindowMs
  }

  /**
   * Whether so many of the active accounts fail that the target must be the cause: all of them, or, without those that one person may own,
   * as many as work. The only active account decides alone.
   */
  areMostFailing(now: number): boolean {
    this.#forgetOld(now)
    const failing = this.#countFailing()
    const workingCount = this.#accounts.size - failing
    return failing > 0 && (workingCount === 0 || failing - maxAccountsOfOnePerson >= workingCount)
  }

  /** Whether a call of this account can tell more than those that failed: they may all be of one person, and none is of this account. */
  isUntried(account: string, now: number): boolean {
    this.#forgetOld(now)
    return !this.isFailing(account) && this.#countFailing() <= maxAccountsOfOnePerson
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
