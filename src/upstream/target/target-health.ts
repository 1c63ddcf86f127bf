/**
 * Health of one target: whether an account may call it now, and the failure of a turn that is refused without a call.
 *
 * A failure that no request can cause rests the target for everyone. Any other failure may be the request's: it slows such requests of its
 * account, and rests the target only if most of the active accounts fail; of few accounts that fail, it rests for those alone.
 */
import { UpstreamFailure } from '../../exchange/upstream-failure.ts'
import { countsAgainstBreaker, isCausedByTarget, rejectsCredential, wasNeverCalled } from '../errors/retry-policy.ts'
import { Breaker } from './breaker.ts'
import { RecentAccounts } from './recent-accounts.ts'
import { noCaller } from './target-caller.ts'
import type { TargetCaller } from './target-caller.ts'

interface TargetHealthOptions {
  /** Failures in a row after which the target rests; 0: it never rests. */
  readonly restAfterFailures: number
  /** How long the target rests after it has rejected its credential; 0: it does not rest. */
  readonly rejectedKeyRestMs: number
}

export class TargetHealth {
  /** Counts the failures that are the target's. */
  readonly breaker: Breaker
  readonly #accounts: RecentAccounts
  readonly #rejectedKeyRestMs: number
  #lastFailure: UpstreamFailure | null = null
  /** When the last call failed because of the target; null after a call that has worked. */
  #failedAt: number | null = null
  /** Whether the last failure that is the target's may also be the request's. */
  #mayBeRequests = false

  constructor({ restAfterFailures, rejectedKeyRestMs }: TargetHealthOptions) {
    const options = { consecutiveFailures: restAfterFailures === 0 ? Infinity : restAfterFailures }
    this.breaker = new Breaker(options)
    this.#accounts = new RecentAccounts(options)
    this.#rejectedKeyRestMs = rejectedKeyRestMs
  }

  /** Call before each attempt; true may use up the probe. @param hasAlternative whether another target can be called instead */
  admits(now: number, hasAlternative: boolean, caller = noCaller): boolean {
    const breakers = this.#listBreakers(now, caller)
    if (breakers.length === 0) return true
    const mayCall = ({ breaker, extraMs }: AppliedBreaker): boolean =>
      breaker.wouldAllow(now - extraMs) || (!hasAlternative && !breaker.isDown)
    if (!breakers.every(mayCall)) return false
    for (const { breaker } of breakers) breaker.allows(now)
    return true
  }

  /** Whether the next call of the caller would be admitted, without using up the probe: for choosing between targets. */
  wouldAdmit(now: number, caller = noCaller): boolean {
    return this.#listBreakers(now, caller).every(({ breaker, extraMs }) => breaker.wouldAllow(now - extraMs))
  }

  /**
   * Whether a conversation should leave the target for another one although it is admitted: its account's last call failed there, or the last
   * call of all. It lasts for a minute at most, so that a target whose conversations have all left is called again.
   */
  isDoubtful(now: number, caller = noCaller): boolean {
    const hasFailed = this.#failedAt !== null && now - this.#failedAt <= maxDoubtMs
    return hasFailed || this.#accounts.hasJustFailed(caller.account, now)
  }

  /** The failure of a turn that is refused without a call: that of the last call, with the time of the next one. */
  refuse(now: number, caller = noCaller): UpstreamFailure {
    const cause = this.#lastFailure
    const failure = new UpstreamFailure({ kind: 'resting', cause: cause?.facts ?? null }, cause?.upstreamHost ?? null)
    failure.retryAfterSeconds = this.#getRestSeconds(now, caller) ?? 1
    return failure
  }

  recordSuccess(now: number, startedAt: number, caller = noCaller): void {
    this.#recordWorking(now, startedAt, caller)
  }

  /** Records the end of a failed call, and adds to the failure when clients should retry. */
  recordFailure(failure: UpstreamFailure, now: number, startedAt: number, caller = noCaller): void {
    // As a success it would hide that the calls that hold the slots fail, and would close an open breaker.
    if (wasNeverCalled(failure.facts)) return
    const isCredentialRejected = rejectsCredential(failure.facts)
    if (!isCredentialRejected && !countsAgainstBreaker(failure.facts)) return this.#recordWorking(now, startedAt, caller)
    this.#lastFailure = failure
    const isTargets = isCausedByTarget(failure.facts)
    if (isTargets) this.#failedAt = now
    else this.#accounts.record(caller, true, now, startedAt)
    if (isTargets || this.#accounts.areMostFailing(now)) {
      this.breaker.record(false, now, startedAt)
      this.#mayBeRequests = !isTargets
    }
    if (isCredentialRejected && this.#rejectedKeyRestMs > 0) this.breaker.rest(this.#rejectedKeyRestMs, now)
    const restSeconds = this.#getRestSeconds(now, caller)
    const countingBreaker = isTargets ? this.breaker : (this.#accounts.getBreaker(caller) ?? this.breaker)
    failure.isTargetResting = restSeconds !== null
    failure.retryAfterSeconds = restSeconds ?? toSeconds(countingBreaker.retryMs(now))
  }

  #recordWorking(now: number, startedAt: number, caller: TargetCaller): void {
    this.#failedAt = null
    this.#accounts.record(caller, false, now, startedAt)
    this.breaker.record(true, now, startedAt)
  }

  /** The breakers that a call of this caller must pass. */
  #listBreakers(now: number, caller: TargetCaller): readonly AppliedBreaker[] {
    const accountBreaker = this.#accounts.getBreaker(caller)
    if (accountBreaker === undefined && !this.breaker.isOpen) return noBreakers
    const appliedBreakers = accountBreaker === undefined ? [] : [{ breaker: accountBreaker, extraMs: 0 }]
    if (!this.breaker.isOpen) return appliedBreakers
    if (!this.#mayBeRequests) return [...appliedBreakers, { breaker: this.breaker, extraMs: 0 }]
    if (this.#accounts.isUntried(caller.account, now)) return appliedBreakers
    // The probe is another account's if one calls within a further delay: the same request would fail again.
    const isProbeOfOthers = this.#accounts.size > 1 && this.#accounts.isFailing(caller.account)
    return [...appliedBreakers, { breaker: this.breaker, extraMs: isProbeOfOthers ? this.breaker.probeDelayMs : 0 }]
  }

  /** Seconds until the next probe of the target, or until the account's next call; null if calls are admitted. */
  #getRestSeconds(now: number, caller: TargetCaller): number | null {
    const restingBreakers = this.#listBreakers(now, caller).filter(({ breaker }) => breaker.isOpen)
    if (restingBreakers.length === 0) return null
    return Math.max(1, ...restingBreakers.map(({ breaker }) => toSeconds(breaker.waitMs(now))))
  }
}

const maxDoubtMs = 60_000

const noBreakers: readonly AppliedBreaker[] = []

interface AppliedBreaker {
  readonly breaker: Breaker
  /** How much longer than others the account waits for the probe. */
  readonly extraMs: number
}

/** Whole seconds, rounded up. The monotonic clock has fractions, so a sum and a difference of one time may differ in the last digit. */
function toSeconds(ms: number): number {
  return Math.ceil(Math.round(ms) / 1000)
}
