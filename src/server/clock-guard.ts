/**
 * Decides whether jobs may delete data by this machine's clock, where no second clock exists (SQLite). A clock that runs days ahead would
 * end plans, sessions and turns for good. A clock that is behind deletes nothing too early, so it is not checked.
 */
import type { Services } from '../services/services.ts'
import { formatDuration } from '../system/duration.ts'

/** A larger jump ahead of the newest known time is suspect. */
const maxJumpMs = 86_400_000
/** An installation that was really off for days waits so long after its start; a wrong clock is corrected by then. */
const graceMs = 3_600_000

export class ClockGuard {
  readonly #services: ClockGuardServices
  /** The newest time known to be right, and when it was on the monotonic clock; undefined before the first check. */
  #known: { readonly at: number; readonly monotonicMs: number } | null | undefined
  #suspectSinceMs: number | null = null

  constructor(services: ClockGuardServices) {
    this.#services = services
  }

  async isTrusted(): Promise<boolean> {
    const { clock, log } = this.#services
    this.#known ??= await this.#readNewestRecord()
    const now = clock.now()
    const monotonicMs = clock.monotonicMs()
    const expectedMs = this.#known === null ? now : this.#known.at + (monotonicMs - this.#known.monotonicMs)
    const aheadMs = now - expectedMs
    if (aheadMs > maxJumpMs) {
      if (this.#suspectSinceMs === null) {
        this.#suspectSinceMs = monotonicMs
        log.warn(
          { newest: new Date(expectedMs).toISOString() },
          `this machine's clock is ${formatDuration(aheadMs)} after the newest record of the database: plans, sessions and other data that it ends are kept for an hour. Correct the clock if it is wrong`,
        )
      }
      if (monotonicMs - this.#suspectSinceMs < graceMs) return false
    }
    this.#suspectSinceMs = null
    if (aheadMs > 0 || this.#known === null) this.#known = { at: now, monotonicMs }
    return true
  }

  /** Turns and audit records cover nearly everything that happens here; null in a new installation. */
  async #readNewestRecord(): Promise<{ readonly at: number; readonly monotonicMs: number } | null> {
    const { ledger, store, clock } = this.#services
    const [turns, records] = await Promise.all([ledger.turns({ limit: 1 }), store.audit.list({ limit: 1 })])
    const times = [...turns.map(({ startedAt }) => startedAt), ...records.map(({ at }) => at)]
    return times.length === 0 ? null : { at: Math.max(...times), monotonicMs: clock.monotonicMs() }
  }
}

type ClockGuardServices = Pick<Services, 'clock' | 'log'> & {
  readonly ledger: Pick<Services['ledger'], 'turns'>
  readonly store: { readonly audit: Pick<Services['store']['audit'], 'list'> }
}
