/**
 * Runs checkpoints. SQLite's automatic checkpoint could run in any commit, even while a WAL flush is in progress: if that flush
 * failed, an unknown part of the WAL would be on disk, and a database half overwritten from it could not be repaired after a
 * power loss.
 */
import { systemClock } from '../../../system/clock.ts'
import type { Statement } from 'better-sqlite3'
import type { Connection } from '../connection/connection.ts'

interface WalPages {
  readonly log: number
  readonly checkpointed: number
}

/** Content that was deleted remains in the WAL until it is overwritten or truncated, so it is truncated this often. */
const truncateEveryMs = 3_600_000
/** The length of the WAL is read after every so many calls: it costs 4 µs, where SQLite's part of a small commit costs 15. */
const maxCallsBetweenReads = 16
/** A short interval, in pages, is checked at each call. */
const pagesForEachCall = 512
/** While a reader prevents it. */
const retryTruncationMs = 60_000

export class WalCheckpoint {
  readonly #db: Connection
  readonly #readPages: Statement<[], WalPages>
  readonly #intervalPages: number
  readonly #callsBetweenReads: number
  #callsSinceRead = 0
  /** WAL length in pages at the last attempt. */
  #lastAttemptPages = 0
  readonly #monotonicMs: () => number
  #truncatesAtMs: number

  /** `intervalPages`: number of new WAL pages between attempts. */
  constructor(db: Connection, intervalPages: number, monotonicMs = (): number => systemClock.monotonicMs()) {
    db.pragma('wal_autocheckpoint = 0')
    this.#monotonicMs = monotonicMs
    this.#truncatesAtMs = monotonicMs() + truncateEveryMs
    this.#db = db
    this.#readPages = db.prepare('pragma wal_checkpoint(noop)')
    this.#intervalPages = intervalPages
    this.#callsBetweenReads = Math.min(maxCallsBetweenReads, Math.ceil(intervalPages / pagesForEachCall))
  }

  /**
   * Call only when no transaction and no flush is in progress and none has failed. A reader may keep a checkpoint from
   * completing; the next attempt follows after as many pages again, because each attempt waits for the disk. `sync` must flush
   * the WAL first: SQLite flushes it too, but continues as if nothing were lost when that fails.
   */
  runIfDue(sync: () => boolean): void {
    const isTruncation = this.#monotonicMs() >= this.#truncatesAtMs
    this.#callsSinceRead += 1
    if (!isTruncation && this.#callsSinceRead < this.#callsBetweenReads) return
    this.#callsSinceRead = 0
    const { log, checkpointed } = this.#readPages.get() ?? { log: 0, checkpointed: 0 }
    // The WAL has restarted from its beginning.
    if (log < this.#lastAttemptPages) this.#lastAttemptPages = 0
    if (!isTruncation && log - Math.max(checkpointed, this.#lastAttemptPages) < this.#intervalPages) return
    this.#lastAttemptPages = log
    if (isTruncation) this.#truncatesAtMs = this.#monotonicMs() + retryTruncationMs
    if (!sync()) return
    try {
      if (isTruncation) this.#truncate()
      else this.#db.pragma('wal_checkpoint(passive)')
    } catch {
      // The remaining pages stay in the WAL until the next attempt.
    }
  }
  /** Waits for no reader, because the writer's connection has no busy timeout. */
  #truncate(): void {
    const [result] = this.#db.pragma('wal_checkpoint(truncate)') as readonly { readonly busy: number }[]
    if (result?.busy === 0) this.#truncatesAtMs = this.#monotonicMs() + truncateEveryMs
  }
}
