/** The clock of tests: time passes only when the test says so, and with it every timer. */
import { TimerClock } from '../../src/system/clock.ts'
import { Timers } from '../../src/system/timers.ts'

interface SimulatedClockOptions {
  /** Milliseconds since the epoch. */
  readonly now?: number
  readonly monotonicMs?: number
  /**
   * Timers also fire as real time passes, although `now` and `monotonicMs` stand still: for tests with sockets, threads and databases, which
   * do not follow this clock.
   */
  readonly isLive?: boolean
}

/** How often a live clock looks for due timers. */
const liveStepMs = 2
/** A longer time between two steps counts as this much. */
const maxLiveStepMs = 350

export class SimulatedClock extends TimerClock {
  #nowMs: number
  #monotonicMs: number
  #activeMs = 0
  readonly now = (): number => this.#nowMs
  readonly monotonicMs = (): number => this.#monotonicMs
  protected readonly timers: Timers
  readonly #onChange: () => void

  constructor({ now = Date.now(), monotonicMs = Math.round(performance.now()), isLive = false }: SimulatedClockOptions = {}) {
    super()
    this.#nowMs = now
    this.#monotonicMs = monotonicMs
    const live = isLive ? new LiveSteps((ms) => this.#pass(ms, () => undefined)) : null
    this.#onChange = () => live?.setRunning(this.timers.nextDueMs !== undefined, this.timers.keepsRunning)
    this.timers = new Timers({ now: () => this.#activeMs, onChange: this.#onChange })
  }

  activeMs(): number {
    return this.#activeMs
  }

  /** Time passes while the program runs: timers fire, each at its time. */
  readonly advance = (ms: number): void => this.#pass(ms, (stepMs) => this.skip(stepMs))

  /** The same, and what a timer has started may go on before the next one fires. */
  async run(ms: number): Promise<void> {
    const untilMs = this.#activeMs + ms
    for (;;) {
      await settle()
      const nextMs = Math.min(untilMs, this.timers.nextDueMs ?? untilMs)
      this.advance(nextMs - this.#activeMs)
      if (nextMs === untilMs) break
    }
    await settle()
  }

  /** Time passes in which the program stands still, as in a suspended machine: waits do not count it. */
  readonly skip = (ms: number): void => {
    this.#nowMs += ms
    this.#monotonicMs += ms
  }

  /** Sets the wall clock, as an operator or a time server does. */
  setNow(ms: number): void {
    this.#nowMs = ms
  }

  #pass(ms: number, onStep: (stepMs: number) => void): void {
    const untilMs = this.#activeMs + ms
    for (;;) {
      const nextMs = Math.min(untilMs, this.timers.nextDueMs ?? untilMs)
      const stepMs = Math.max(0, nextMs - this.#activeMs)
      this.#activeMs += stepMs
      onStep(stepMs)
      this.timers.runDue(this.#activeMs)
      if (this.#activeMs >= untilMs) break
    }
    // The last timer that keeps the process running may have fired.
    this.#onChange()
  }
}

/** Rounds of the event loop in which work that waits for nothing else ends, such as a commit of the ledger. */
const settlingRounds = 10

async function settle(): Promise<void> {
  for (let round = 0; round < settlingRounds; round++) await new Promise((resolve) => setImmediate(resolve))
}

/** Reports real time, at an interval. */
class LiveSteps {
  readonly #onStep: (ms: number) => void
  #interval: NodeJS.Timeout | undefined
  #steppedAtMs = 0

  constructor(onStep: (ms: number) => void) {
    this.#onStep = onStep
  }

  setRunning(isRunning: boolean, keepsProcess: boolean): void {
    if (!isRunning) {
      clearInterval(this.#interval)
      this.#interval = undefined
      return
    }
    if (this.#interval === undefined) {
      this.#steppedAtMs = performance.now()
      this.#interval = setInterval(() => this.#step(), liveStepMs)
    }
    if (keepsProcess) this.#interval.ref()
    else this.#interval.unref()
  }

  #step(): void {
    const nowMs = performance.now()
    const ms = Math.min(maxLiveStepMs, nowMs - this.#steppedAtMs)
    this.#steppedAtMs = nowMs
    this.#onStep(ms)
  }
}
