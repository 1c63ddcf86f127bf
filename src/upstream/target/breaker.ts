/**
 * Circuit breaker of one target: closed while it works, open once its failure *rate* is too high or enough calls in a row have failed, then
 * single probes until it works again. A rate, because a single failure says nothing about a busy target; failures in a row, because a quiet
 * target never reaches a rate. The caller passes the time in milliseconds; there is no clock here.
 */
import { RollingCount } from './rolling-count.ts'

export class Breaker {
  readonly #options: BreakerOptions
  readonly #calls: RollingCount
  readonly #failures: RollingCount
  /** When it opened; null while closed. */
  #openedAt: number | null = null
  #lastProbeAt = 0
  #probeDelayMs: number
  /** No probe before this time: the target's credential was rejected. */
  #restUntil = 0
  #successfulProbes = 0
  #consecutiveFailures = 0

  constructor(options: Partial<BreakerOptions> = {}) {
    this.#options = { ...defaults, ...options }
    this.#probeDelayMs = this.#options.probeEveryMs
    const windowOptions = { windowMs: this.#options.windowMs, steps: 10 }
    this.#calls = new RollingCount(windowOptions)
    this.#failures = new RollingCount(windowOptions)
  }

  /** Call before each attempt. While open, returns true once per probe delay: that call is the probe. */
  allows(now: number): boolean {
    if (this.#openedAt === null) return true
    if (!this.wouldAllow(now)) return false
    this.#lastProbeAt = now
    return true
  }

  /** Whether only probes are admitted. */
  get isOpen(): boolean {
    return this.#openedAt !== null
  }

  /** Delay from one probe to the next. */
  get probeDelayMs(): number {
    return this.#probeDelayMs
  }

  /** Whether the last calls have all failed. */
  get isDown(): boolean {
    const isFailing = this.#restUntil > 0 || this.#consecutiveFailures >= this.#options.consecutiveFailures
    return this.#openedAt !== null && isFailing
  }

  /** Milliseconds until the next probe is allowed. */
  waitMs(now: number): number {
    if (this.#openedAt === null) return 0
    return Math.max(0, this.#lastProbeAt + this.#probeDelayMs - now, this.#restUntil - now)
  }

  /** Milliseconds after which a client should retry: they double with each failure in a row, from one second up to `maxRetryMs`. */
  retryMs(now: number): number {
    const growingMs = Math.min(
      this.#options.maxRetryMs,
      this.#options.probeEveryMs * 2 ** Math.max(0, this.#consecutiveFailures - 1),
    )
    return Math.max(this.waitMs(now), growingMs)
  }

  /** Opens at once and admits no probe for this time: the target has rejected its credential. */
  rest(durationMs: number, now: number): void {
    if (this.#openedAt === null) this.#open(now)
    this.#restUntil = now + durationMs
  }

  /** Whether the next call would be allowed, without using up the probe: for choosing between targets. */
  wouldAllow(now: number): boolean {
    return this.waitMs(now) === 0
  }

  /**
   * Records the end of a call. `startedAt` keeps a call from before the opening from counting as a probe. A call that says nothing about
   * the target (client disconnected, invalid request) is recorded as a success or not at all.
   */
  record(ok: boolean, now: number, startedAt = now): void {
    if (this.#openedAt !== null) {
      if (startedAt >= this.#openedAt) this.#recordProbe(ok)
      return
    }
    this.#consecutiveFailures = ok ? 0 : this.#consecutiveFailures + 1
    this.#calls.add(now)
    if (!ok) this.#failures.add(now)
    if (!ok && (this.#consecutiveFailures >= this.#options.consecutiveFailures || this.#isFailing(now))) this.#open(now)
  }

  /** For the metric. `half_open`: the next call would be allowed as a probe, or probes have succeeded. */
  state(now: number): BreakerState {
    if (this.#openedAt === null) return 'closed'
    return this.#successfulProbes > 0 || this.wouldAllow(now) ? 'half_open' : 'open'
  }

  #recordProbe(ok: boolean): void {
    this.#consecutiveFailures = ok ? 0 : this.#consecutiveFailures + 1
    if (ok) this.#restUntil = 0
    this.#probeDelayMs = ok ? this.#options.probeEveryMs : Math.min(this.#options.maxProbeDelayMs, this.#probeDelayMs * 2)
    this.#successfulProbes = ok ? this.#successfulProbes + 1 : 0
    if (this.#successfulProbes >= this.#options.probesToClose) this.#close()
  }

  #open(now: number): void {
    this.#openedAt = now
    this.#lastProbeAt = now
    this.#probeDelayMs = this.#options.probeEveryMs
    this.#successfulProbes = 0
  }

  /** Counts from before the opening say nothing about the recovered target. */
  #close(): void {
    this.#openedAt = null
    this.#restUntil = 0
    this.#calls.clear()
    this.#failures.clear()
  }

  #isFailing(now: number): boolean {
    const calls = this.#calls.total(now)
    return calls >= this.#options.minCalls && this.#failures.total(now) / calls >= this.#options.failureRate
  }
}

export type BreakerState = 'closed' | 'open' | 'half_open'

export interface BreakerOptions {
  /** How far back calls count. */
  readonly windowMs: number
  /** Fewer calls in the window never open it. */
  readonly minCalls: number
  /** Failure rate at which it opens, 0 to 1. */
  readonly failureRate: number
  /** Failures in a row at which it opens. */
  readonly consecutiveFailures: number
  /** Delay of the first probe. It doubles with each probe that fails, up to `maxProbeDelayMs`. */
  readonly probeEveryMs: number
  readonly maxProbeDelayMs: number
  readonly maxRetryMs: number
  /** Successful probes in a row that close it. */
  readonly probesToClose: number
}

/** A busy target that fails completely is noticed after half of the window. */
const defaults: BreakerOptions = {
  windowMs: 3_000,
  minCalls: 10,
  failureRate: 0.5,
  consecutiveFailures: 5,
  probeEveryMs: 1_000,
  // A target that works again is found within four seconds, and back in use within five.
  maxProbeDelayMs: 4_000,
  maxRetryMs: 30_000,
  probesToClose: 2,
}
