/** What the writer's commits need to be on disk: flushes of the WAL, its checkpoints, and its repair after a failed flush. */
import Sqlite from 'better-sqlite3'
import type { Connection } from '../connection/connection.ts'
import type { FlushedMessage, WriterOptions } from '../connection/writer-protocol.ts'
import { WalCheckpoint } from './wal-checkpoint.ts'
import { WalSync } from './wal-sync.ts'
import type { InlineSync } from './wal-sync.ts'
import { createSyncError, toFault } from './writer-fault.ts'

/** With so few operations in a batch the load is low and the writer can wait for a fast disk. */
const maxInlineSyncOperations = 2

export class WalDurability {
  readonly #db: Connection
  readonly #sync: WalSync
  readonly #checkpoint: WalCheckpoint

  /** `onFlushed` receives the outcome of each flush that a reply has announced. The database must have been read. */
  constructor(
    db: Connection,
    { file, checkpointPages }: Pick<WriterOptions, 'file' | 'checkpointPages'>,
    onFlushed: (flushed: FlushedMessage) => void,
  ) {
    this.#db = db
    this.#sync = new WalSync(file, (upTo, seconds, fault) => {
      if (fault === null) {
        onFlushed(['flushed', upTo, seconds, null, false])
        this.checkpointIfDue()
        return
      }
      onFlushed(['flushed', upTo, seconds, toFault(createSyncError(fault)), this.#tryRepair()])
    })
    this.#checkpoint = new WalCheckpoint(db, checkpointPages)
  }

  /** A flush has failed, and the WAL has not been repaired since. */
  get hasFailed(): boolean {
    return this.#sync.hasFailed
  }

  /** If SQLite's own flush failed, earlier commits that are not flushed yet may be lost as well. */
  noteError(error: unknown): void {
    if (error instanceof Sqlite.SqliteError && error.code === 'SQLITE_IOERR_FSYNC') this.#sync.markFailed(error)
  }

  checkpointIfDue(): void {
    if (!this.#sync.isSyncing && !this.#sync.hasFailed && this.#db.open && !this.#db.inTransaction)
      this.#checkpoint.runIfDue(() => this.#trySync())
  }

  /** Flushes now. While another flush is running its failure may be reported to that flush only, so a success here proves nothing. */
  isDurable(): boolean {
    return !this.#sync.isSyncing && !this.#sync.hasFailed && this.#trySync()
  }

  /** A small batch means that few other clients wait for the next one. */
  requestSync(operations: number): InlineSync {
    return operations <= maxInlineSyncOperations ? this.#sync.syncInlineOrRequest() : [this.#sync.request(), 0]
  }

  /**
   * Not during a flush: the failure of either would be reported to one of them only, so that the other would seem to succeed. The
   * end of that flush repairs the WAL.
   */
  repairIfFailed(): void {
    if (!this.#sync.hasFailed) return
    if (this.#sync.isSyncing) throw createSyncError()
    this.#repair()
  }

  /** Reports every requested flush, and leaves a single file, even if another process still has it open; else the last process that closes it does. */
  close(): void {
    if (this.#sync.hasFailed) this.#repair()
    // As before each checkpoint: balances written when idle have not been flushed.
    else if (!this.#trySync()) throw createSyncError()
    this.#sync.close()
    this.#db.pragma('wal_checkpoint(truncate)')
  }

  #trySync(): boolean {
    try {
      this.#sync.syncNow()
      return true
    } catch {
      return this.#tryRepair()
    }
  }

  /** Nothing is written to a WAL whose flush failed, nor copied from it to the database, before it is rewritten. */
  #repair(): void {
    this.#db.exec('begin immediate')
    try {
      this.#sync.rewrite()
    } catch (error) {
      throw createSyncError(error)
    } finally {
      this.#db.exec('rollback')
    }
  }

  /** If this fails, the next transaction tries again and gets the error. */
  #tryRepair(): boolean {
    try {
      this.#repair()
    } catch {
      return false
    }
    return true
  }
}
