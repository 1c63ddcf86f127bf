/**
 * Runs checkpoints. SQLite's automatic checkpoint could run in any commit, even while a WAL flush is in progress: if that flush
 * failed, an unknown part of the WAL would be on disk, and a database half overwritten from it could not be repaired after a
 * power loss.
 */
import type { Statement } from 'better-sqlite3'
import type { Connection } from '../connection/connection.ts'

interface WalPages {
  readonly log: number
  readonly checkpointed: number
}

export class WalCheckpoint {
  readonly #db: Connection
  readonly #readPages: Statement<[], WalPages>
  readonly #intervalPages: number
  /** WAL length in pages at the last attempt. */
  #lastAttemptPages = 0

  /** `intervalPages`: number of new WAL pages between attempts. */
  constructor(db: Connection, intervalPages: number) {
    db.pragma('wal_autocheckpoint = 0')
    this.#db = db
    this.#readPages = db.prepare('pragma wal_checkpoint(noop)')
    this.#intervalPages = intervalPages
  }

  /**
   * Call only when no transaction and no flush is in progress and none has failed. A reader may keep a checkpoint from
   * completing; the next attempt follows after as many pages again, because each attempt waits for the disk. `sync` must flush
   * the WAL first: SQLite flushes it too, but continues as if nothing were lost when that fails.
   */
  runIfDue(sync: () => boolean): void {
    const { log, checkpointed } = this.#readPages.get() ?? { log: 0, checkpointed: 0 }
    // The WAL has restarted from its beginning.
    if (log < this.#lastAttemptPages) this.#lastAttemptPages = 0
    if (log - Math.max(checkpointed, this.#lastAttemptPages) < this.#intervalPages) return
    this.#lastAttemptPages = log
    if (!sync()) return
    try {
      this.#db.pragma('wal_checkpoint(passive)')
    } catch {
      // The remaining pages stay in the WAL until the next attempt.
    }
  }
}
