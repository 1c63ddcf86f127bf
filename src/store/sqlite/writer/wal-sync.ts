/**
 * Flushes the WAL to disk while the writer goes on. Commits do not wait for the disk; an operation that must be durable waits for
 * a flush that began after its commit. One flush runs at a time; commits during it share the next one. On a fast disk and without
 * other load the writer flushes inline, which costs less than the round trip to the thread pool.
 *
 * The WAL is opened a second time for this. SQLite has no locks on it (they are on the database and its `-shm`), which matters
 * because closing any descriptor of a file drops the process's locks on it. The file stays the same while the writer has the
 * database open: SQLite restarts the WAL in place, and before overwriting it flushes first the WAL, then the database. So a
 * commit that is no longer in the WAL at a flush is in the database for good.
 */
import { systemClock } from '../../../system/clock.ts'
import { closeSync, fdatasync, fdatasyncSync, openSync, readSync, writeSync } from 'node:fs'

const rewriteChunkBytes = 65_536
/** The writer flushes inline only if the last flush was at most this long, because holds wait for the writer. */
const maxInlineSeconds = 0.001

/** Receives the number up to which requests are durable, the duration in seconds, and `fault` if one of them may not be. */
type OnSynced = (upTo: number, seconds: number, fault: Error | null) => void

/** Number of the flush to wait for; 0 if the flush is done, with its duration. */
export type InlineSync = readonly [flush: number, seconds: number]

export class WalSync {
  readonly #fd: number
  readonly #onSynced: OnSynced
  #requested = 0
  #completed = 0
  #isSyncing = false
  #isClosed = false
  /** Duration of the last flush. */
  #lastSeconds = Infinity
  /**
   * Why part of the WAL may be missing on disk. Stays until the whole WAL is rewritten: a later successful flush does not repair
   * a failed one.
   */
  #failure: Error | null = null

  /** The WAL must exist, that is, the database must have been read. */
  constructor(database: string, onSynced: OnSynced) {
    this.#fd = openSync(`${database}-wal`, 'r+')
    this.#onSynced = onSynced
  }

  get isSyncing(): boolean {
    return this.#isSyncing
  }

  get hasFailed(): boolean {
    return this.#failure !== null
  }

  /** Records that a flush of the WAL by SQLite failed. */
  markFailed(fault: Error): void {
    this.#failure ??= fault
  }

  /** Starts a flush, or queues one after the running flush. Returns its number. */
  request(): number {
    this.#requested += 1
    if (!this.#isSyncing) this.#startSync()
    return this.#requested
  }

  /** Like `request`, when no other operation waits for the writer: waits for a fast disk before it returns. */
  syncInlineOrRequest(): InlineSync {
    if (this.#isSyncing || this.#lastSeconds > maxInlineSeconds) return [this.request(), 0]
    this.#requested += 1
    const startedMs = systemClock.monotonicMs()
    try {
      fdatasyncSync(this.#fd)
    } catch (error) {
      // Reported like every other flush, after the reply that carries its number.
      this.#isSyncing = true
      this.markFailed(error as Error)
      setImmediate(() => this.#finishSync(this.#requested, startedMs, error as Error))
      return [this.#requested, 0]
    }
    this.#completed = this.#requested
    this.#lastSeconds = (systemClock.monotonicMs() - startedMs) / 1000
    return [0, this.#lastSeconds]
  }

  /** The whole WAL is on disk when this returns. @throws if the flush failed */
  syncNow(): void {
    try {
      fdatasyncSync(this.#fd)
    } catch (error) {
      this.markFailed(error as Error)
      throw error
    }
  }

  /**
   * Rewrites the WAL in place and flushes it. After a failed flush the kernel marks the pages clean, so no later flush would
   * write them. No process may write to the WAL meanwhile. Clears the failure.
   */
  rewrite(): void {
    const chunk = Buffer.alloc(rewriteChunkBytes)
    for (let at = 0; ;) {
      const length = readSync(this.#fd, chunk, 0, chunk.length, at)
      if (length === 0) break
      at += writeSync(this.#fd, chunk, 0, length, at)
    }
    fdatasyncSync(this.#fd)
    this.#failure = null
  }

  /** Reports every requested flush before it returns. */
  close(): void {
    if (this.#completed < this.#requested) {
      const startedMs = systemClock.monotonicMs()
      try {
        if (this.#failure === null) this.syncNow()
      } catch {
        // The failure is recorded and reported below.
      }
      this.#report(this.#requested, startedMs, this.#failure)
    }
    this.#isClosed = true
    if (!this.#isSyncing) closeSync(this.#fd)
  }

  #startSync(): void {
    const upTo = this.#requested
    const startedMs = systemClock.monotonicMs()
    this.#isSyncing = true
    fdatasync(this.#fd, (fault) => this.#finishSync(upTo, startedMs, fault))
  }

  #finishSync(upTo: number, started: number, fault: Error | null): void {
    this.#isSyncing = false
    if (this.#isClosed) {
      closeSync(this.#fd)
      return
    }
    if (fault !== null) this.markFailed(fault)
    // Commits made during a failed flush come after what may be missing.
    this.#report(this.#failure === null ? upTo : this.#requested, started, this.#failure)
    if (this.#completed < this.#requested) this.#startSync()
  }

  #report(upTo: number, started: number, fault: Error | null): void {
    this.#completed = upTo
    this.#lastSeconds = (systemClock.monotonicMs() - started) / 1000
    this.#onSynced(upTo, this.#lastSeconds, fault)
  }
}
