/**
 * When the log is taken into the database. SQLite would do so at any commit, also while a flush of the log is under way: where that one
 * fails, nobody knows how much of the log the disk has, and a database that was half overwritten from it could not be mended after a power cut.
 */
import type { Statement } from 'better-sqlite3'
import type { Connection } from './connection.ts'

interface Pages {
  readonly log: number
  readonly checkpointed: number
}

export class Checkpoints {
  readonly #db: Connection
  readonly #look: Statement<[], Pages>
  readonly #most: number
  /** How long the log was when it was last tried. */
  #tried = 0

  /** After so many pages. */
  constructor(db: Connection, most: number) {
    db.pragma('wal_autocheckpoint = 0')
    this.#db = db
    this.#look = db.prepare('pragma wal_checkpoint(noop)')
    this.#most = most
  }

  /**
   * To be asked where no transaction and no flush is under way, and none has failed. Whoever reads keeps it from going on for now; it is
   * tried again after as many pages, since each try waits for the disk. `flush` is asked first: SQLite flushes the log as well, and goes
   * on as if nothing were lost where that fails. It must have nothing to lose.
   */
  inTime(flush: () => boolean): void {
    const { log, checkpointed } = this.#look.get() ?? { log: 0, checkpointed: 0 }
    // Begun anew.
    if (log < this.#tried) this.#tried = 0
    if (log - Math.max(checkpointed, this.#tried) < this.#most) return
    this.#tried = log
    if (!flush()) return
    try {
      this.#db.pragma('wal_checkpoint(passive)')
    } catch {
      // What could not be taken in is still in the log, and tried again later.
    }
  }
}
