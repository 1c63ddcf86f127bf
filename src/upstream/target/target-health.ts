/** Health of one target: whether it may be called now, and the failure of a turn that is refused without a call. */
import { UpstreamFailure } from '../../exchange/upstream-failure.ts'
import { countsAgainstBreaker, rejectsCredential, wasNeverCalled } from '../errors/retry-policy.ts'
import { Breaker } from './breaker.ts'

interface TargetHealthOptions {
  /** Failures in a row after which the target rests; 0: it never rests. */
  readonly restAfterFailures: number
  /** How long the target rests after it has rejected its credential; 0: it does not rest. */
  readonly rejectedKeyRestMs: number
}

export class TargetHealth {
  readonly breaker: Breaker
  readonly #rejectedKeyRestMs: number
  #lastFailure: UpstreamFailure | null = null

  constructor({ restAfterFailures, rejectedKeyRestMs }: TargetHealthOptions) {
    this.breaker = new Breaker({ consecutiveFailures: restAfterFailures === 0 ? Infinity : restAfterFailures })
    this.#rejectedKeyRestMs = rejectedKeyRestMs
  }

  /** Call before each attempt; true may use up the probe. @param hasAlternative whether another target can be called instead */
  admits(now: number, hasAlternative: boolean): boolean {
    return hasAlternative ? this.breaker.allows(now) : this.breaker.allowsWithoutAlternative(now)
  }

  /** The failure of a turn that is refused without a call: that of the last call, with the time of the next one. */
  refuse(now: number): UpstreamFailure {
    const cause = this.#lastFailure
    const failure = new UpstreamFailure({ kind: 'resting', cause: cause?.facts ?? null }, cause?.upstreamHost ?? null)
    failure.retryAfterSeconds = Math.max(1, toSeconds(this.breaker.waitMs(now)))
    return failure
  }

  recordSuccess(now: number, startedAt: number): void {
    this.breaker.record(true, now, startedAt)
  }

  /** Records the end of a failed call, and adds to the failure when clients should retry. */
  recordFailure(failure: UpstreamFailure, now: number, startedAt: number): void {
    // As a success it would hide that the calls that hold the slots fail, and would close an open breaker.
    if (wasNeverCalled(failure.facts)) return
    const isCredentialRejected = rejectsCredential(failure.facts)
    const counts = isCredentialRejected || countsAgainstBreaker(failure.facts)
    this.breaker.record(!counts, now, startedAt)
    if (!counts) return
    this.#lastFailure = failure
    if (isCredentialRejected && this.#rejectedKeyRestMs > 0) this.breaker.rest(this.#rejectedKeyRestMs, now)
    failure.retryAfterSeconds = toSeconds(this.breaker.retryMs(now))
  }
}

/** Whole seconds, rounded up. The monotonic clock has fractions, so a sum and a difference of one time may differ in the last digit. */
function toSeconds(ms: number): number {
  return Math.ceil(Math.round(ms) / 1000)
}
