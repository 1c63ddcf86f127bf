/**
 * Brings the log to the disk while the writer goes on. Commits wait for no disk; whoever needs one to survive the power waits for a flush
 * that began after it. There is one at a time, and what is committed meanwhile shares the next. Where the disk is quick and nobody else waits
 * for the writer, it flushes by itself: that costs less than the way to the pool and back.
 *
 * The log is opened once more for that, which no lock hangs on: SQLite's are on the database and its `-shm`, and a process loses those of a
 * file by closing any descriptor of that file alone. It stays the same file while the writer has the database open: SQLite begins it
 * anew in place, and brings to the disk first the log, then the database, before it writes over what only the log had. So a commit that a
 * flush finds no longer in the log is in the database for good.
 */
import { closeSync, fdatasync, fdatasyncSync, openSync, readSync, writeSync } from 'node:fs'

const rewrittenAtOnce = 65_536
/** The writer waits for no disk that took longer: holds wait for the writer. */
const quickSeconds = 0.001

/** Hears which asks are on the disk, all before them too, and after how many seconds; `fault` where one of them may not be. */
type Done = (upTo: number, seconds: number, fault: Error | null) => void

/** By which number it is answered; 0 where it is done, after so many seconds. */
export type AskedAlone = readonly [flush: number, seconds: number]

export class LogFlush {
  readonly #log: number
  readonly #done: Done
  #asked = 0
  #answered = 0
  #isUnderWay = false
  #isClosed = false
  /** Of the last flush. */
  #seconds = Infinity
  /** Why the disk may lack some of the log, until all of it has been written anew: no flush that ends well makes up for one that did not. */
  #doubt: Error | null = null

  /** The log must be there: the database has been read. */
  constructor(database: string, done: Done) {
    this.#log = openSync(`${database}-wal`, 'r+')
    this.#done = done
  }

  get isUnderWay(): boolean {
    return this.#isUnderWay
  }

  get isInDoubt(): boolean {
    return this.#doubt !== null
  }

  /** Somebody else's flush of the log has failed. */
  doubt(fault: Error): void {
    this.#doubt ??= fault
  }

  /** Begins a flush, or has the next one begin after the one under way. Gives the number by which it is answered. */
  ask(): number {
    this.#asked += 1
    if (!this.#isUnderWay) this.#next()
    return this.#asked
  }

  /** The same where nobody else waits for the writer: a quick disk has been waited for when this returns. */
  askAlone(): AskedAlone {
    if (this.#isUnderWay || this.#seconds > quickSeconds) return [this.ask(), 0]
    this.#asked += 1
    const started = performance.now()
    try {
      fdatasyncSync(this.#log)
    } catch (error) {
      // Told like every other, after the reply that says to wait for it.
      this.#isUnderWay = true
      this.doubt(error as Error)
      setImmediate(() => this.#ended(this.#asked, started, error as Error))
      return [this.#asked, 0]
    }
    this.#answered = this.#asked
    this.#seconds = (performance.now() - started) / 1000
    return [0, this.#seconds]
  }

  /** All of the log is on the disk when it returns. @throws where the disk did not take it */
  now(): void {
    try {
      fdatasyncSync(this.#log)
    } catch (error) {
      this.doubt(error as Error)
      throw error
    }
  }

  /**
   * Writes the log over itself and flushes it. What a failed flush has not brought to the disk no later one would, because the system takes it
   * for written from then on. Nobody may write to the log meanwhile. It is in no doubt after that.
   */
  rewrite(): void {
    const piece = Buffer.alloc(rewrittenAtOnce)
    for (let at = 0; ;) {
      const length = readSync(this.#log, piece, 0, piece.length, at)
      if (length === 0) break
      at += writeSync(this.#log, piece, 0, length, at)
    }
    fdatasyncSync(this.#log)
    this.#doubt = null
  }

  /** Answers all that was asked for before it returns. */
  close(): void {
    if (this.#answered < this.#asked) {
      const started = performance.now()
      try {
        if (this.#doubt === null) this.now()
      } catch {
        // It is in doubt.
      }
      this.#answer(this.#asked, started, this.#doubt)
    }
    this.#isClosed = true
    if (!this.#isUnderWay) closeSync(this.#log)
  }

  #next(): void {
    const upTo = this.#asked
    const started = performance.now()
    this.#isUnderWay = true
    fdatasync(this.#log, (fault) => this.#ended(upTo, started, fault))
  }

  #ended(upTo: number, started: number, fault: Error | null): void {
    this.#isUnderWay = false
    if (this.#isClosed) {
      closeSync(this.#log)
      return
    }
    if (fault !== null) this.doubt(fault)
    // What was committed during a flush that failed stands behind what may be missing.
    this.#answer(this.#doubt === null ? upTo : this.#asked, started, this.#doubt)
    if (this.#answered < this.#asked) this.#next()
  }

  #answer(upTo: number, started: number, fault: Error | null): void {
    this.#answered = upTo
    this.#seconds = (performance.now() - started) / 1000
    this.#done(upTo, this.#seconds, fault)
  }
}
