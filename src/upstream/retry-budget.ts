/**
 * Bounds second tries to a tenth of the turns of the last minute, so that a failing upstream is not buried under them; a quiet gateway may
 * try a few times all the same. Times are milliseconds, given by the caller.
 *
 * A try that costs the upstream nothing (no connection was made, no place was free) is not asked for here: as many of those are made as
 * there are targets.
 */
export class RetryBudget {
  readonly #slots: Slot[] = Array.from({ length: slotCount }, () => ({ turn: -1, calls: 0, retries: 0 }))

  /** Told of each turn's first try. */
  earn(now: number): void {
    this.#slotOf(now).calls++
  }

  /** True if there is a retry to spend, and then it is spent. */
  spend(now: number): boolean {
    const slot = this.#slotOf(now)
    let calls = 0
    let retries = 0
    for (const { turn, calls: some, retries: again } of this.#slots) {
      if (turn <= slot.turn - slotCount || turn < 0) continue
      calls += some
      retries += again
    }
    if (retries >= Math.max(leastRetries, Math.floor(share * calls))) return false
    slot.retries++
    return true
  }

  /** A clock that is set back goes on counting in the slot it was in. */
  #slotOf(now: number): Slot {
    const turn = Math.max(0, Math.floor((now * slotCount) / windowMs), ...this.#slots.map((slot) => slot.turn))
    const slot = this.#slots[turn % slotCount] ?? { turn, calls: 0, retries: 0 }
    if (slot.turn !== turn) Object.assign(slot, { turn, calls: 0, retries: 0 })
    return slot
  }
}

/** How far back turns and retries count. */
const windowMs = 60_000
/** Retries for each turn in the window. */
const share = 0.1
/** Retries that a window has in any case. */
const leastRetries = 3

/** The window moves in this many steps, so that it needs no list of calls. */
const slotCount = 12

interface Slot {
  turn: number
  calls: number
  retries: number
}
