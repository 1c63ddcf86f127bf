/**
 * Keeps calls away from a target that fails: closed while it works, open once the *rate* of failures says it does not, then
 * one probe a second until it works again. A rate, because one failure says nothing about a busy target. Times are
 * milliseconds, given by the caller; nothing here looks at a clock.
 */
export class Breaker {
  readonly #options: BreakerOptions
  readonly #slots: Slot[]
  /** When it opened; null while closed. */
  #openedAt: number | null = null
  #lastProbeAt = 0
  #goodProbes = 0

  constructor(options: Partial<BreakerOptions> = {}) {
    this.#options = { ...usual, ...options }
    this.#slots = Array.from({ length: slotCount }, () => ({ turn: -1, calls: 0, failures: 0 }))
  }

  /** Asked before each call. While open, true once per `probeEveryMs`: that call is the probe. */
  allows(now: number): boolean {
    if (this.#openedAt === null) return true
    if (!this.wouldAllow(now)) return false
    this.#lastProbeAt = now
    return true
  }

  /** Whether the next call would be let through, without taking the probe: for choosing between targets. */
  wouldAllow(now: number): boolean {
    return this.#openedAt === null || now - this.#lastProbeAt >= this.#options.probeEveryMs
  }

  /**
   * Told how a call ended. `startedAt` keeps a call from before the opening from being taken for a probe; a call whose end
   * says nothing about the target (the client left, the request was invalid) is not told at all, or as a success.
   */
  record(ok: boolean, now: number, startedAt = now): void {
    if (this.#openedAt !== null) {
      if (startedAt >= this.#openedAt) this.#judgeProbe(ok)
      return
    }
    const slot = this.#slotOf(now)
    slot.calls++
    if (!ok) slot.failures++
    if (!ok && this.#isFailing(now)) this.#open(now)
  }

  /** For the metric; `half_open` means that the next call would be let through as a probe, or that probes have gone well. */
  state(now: number): BreakerState {
    if (this.#openedAt === null) return 'closed'
    return this.#goodProbes > 0 || this.wouldAllow(now) ? 'half_open' : 'open'
  }

  #judgeProbe(ok: boolean): void {
    this.#goodProbes = ok ? this.#goodProbes + 1 : 0
    if (this.#goodProbes >= this.#options.probesToClose) this.#close()
  }

  #open(now: number): void {
    this.#openedAt = now
    this.#lastProbeAt = now
    this.#goodProbes = 0
  }

  /** What was counted before the opening says nothing about the target that came back. */
  #close(): void {
    this.#openedAt = null
    for (const slot of this.#slots) slot.turn = -1
  }

  #isFailing(now: number): boolean {
    const turn = this.#turnOf(now)
    let calls = 0
    let failures = 0
    for (const slot of this.#slots) {
      if (slot.turn <= turn - slotCount || slot.turn < 0) continue
      calls += slot.calls
      failures += slot.failures
    }
    return calls >= this.#options.minimumCalls && failures / calls >= this.#options.failureRate
  }

  #slotOf(now: number): Slot {
    const turn = this.#turnOf(now)
    const slot = this.#slots[turn % slotCount] ?? { turn, calls: 0, failures: 0 }
    if (slot.turn !== turn) Object.assign(slot, { turn, calls: 0, failures: 0 })
    return slot
  }

  #turnOf(now: number): number {
    return Math.max(0, Math.floor((now * slotCount) / this.#options.windowMs))
  }
}

export type BreakerState = 'closed' | 'open' | 'half_open'

export interface BreakerOptions {
  /** How far back calls count. */
  readonly windowMs: number
  /** Fewer calls in the window never open it. */
  readonly minimumCalls: number
  /** Share of failures at which it opens, 0 to 1. */
  readonly failureRate: number
  readonly probeEveryMs: number
  /** Good probes in a row that close it. */
  readonly probesToClose: number
}

/** Half of three seconds is how long a busy target that fails altogether goes unnoticed. */
const usual: BreakerOptions = { windowMs: 3_000, minimumCalls: 10, failureRate: 0.5, probeEveryMs: 1_000, probesToClose: 2 }

/** The window moves in this many steps, so that it needs no list of calls. */
const slotCount = 10

interface Slot {
  turn: number
  calls: number
  failures: number
}
