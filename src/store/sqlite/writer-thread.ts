/** The writer's thread: owns the only connection that writes, and turns each batch into one transaction. */
import { parentPort, workerData } from 'node:worker_threads'
import type { Statement } from 'better-sqlite3'
import Sqlite from 'better-sqlite3'
import type { Connection } from './connection.ts'
import { openForWriting } from './connection.ts'
import { LedgerStatements } from './ledger-statements.ts'
import { Checkpoints } from './checkpoints.ts'
import type { AskedAlone } from './log-flush.ts'
import { LogFlush } from './log-flush.ts'
import { patiently } from './patience.ts'
import type { FaultResult, Flushed, Op, Reply, Request, Result, WriterOptions } from './protocol.ts'
import { Statements } from './statements.ts'
import { WriterLines } from './writer-lines.ts'

/** After so long without a request purses are written, so many at a time. */
const restAfterMs = 500
const restStep = 256

/** So few operations come together where turns do not: the writer has the time to wait for a quick disk. */
const few = 2
const nothingToFlush: AskedAlone = [0, 0]

/** Requests that end with a commit. */
const committing: ReadonlySet<Request[0]> = new Set(['batch', 'commit', 'enrol', 'attach', 'release'])

class WriterThread {
  readonly #db: Connection
  readonly #statements: Statements
  readonly #beginNow: Statement
  readonly #commitNow: Statement
  /** Made when the process enrols: before that the ledger's tables may not exist. */
  #ledger: LedgerStatements | undefined
  #synchronous = true
  readonly #flush: LogFlush
  readonly #checkpoints: Checkpoints
  /** In whose name the ledger was last asked. */
  #speaker: string | undefined
  readonly #busyTimeoutMs: number

  /** `tell` hears what has become of the flushes that replies said to wait for. */
  constructor(options: WriterOptions, tell: (flushed: Flushed) => void) {
    this.#db = openForWriting(options.file, options.busyTimeoutMs, options.mayBeNew)
    this.#db.pragma('schema_version')
    this.#flush = new LogFlush(options.file, (upTo, seconds, fault) => {
      if (fault === null) {
        tell(['flushed', upTo, seconds, null, false])
        this.#checkpointInTime()
        return
      }
      tell(['flushed', upTo, seconds, toFault(notFlushed(fault)), this.#isMended()])
    })
    this.#busyTimeoutMs = options.busyTimeoutMs
    // From here on only `#begin` waits, with shorter steps than the driver's.
    this.#db.pragma('busy_timeout = 0')
    this.#checkpoints = new Checkpoints(this.#db, options.checkpointPages)
    this.#statements = new Statements(this.#db)
    this.#beginNow = this.#db.prepare('begin immediate')
    this.#commitNow = this.#db.prepare('commit')
  }

  /** `owner`: the thread of this process that asks; undefined for the process itself. */
  answer(request: Request, owner: string | undefined): Reply {
    const started = performance.now()
    const results = this.#perform(request, owner)
    const isDurable = request[0] === 'batch' && request[1]
    const isToLast = isDurable && results.some(([kind]) => kind !== 'fault')
    const [flush, flushSeconds] = isToLast ? this.#askFlush(results.length) : nothingToFlush
    const wrote = committing.has(request[0])
    const seconds = wrote ? (performance.now() - started) / 1000 - flushSeconds : 0
    return [results, seconds, wrote && this.#synchronous, this.#ledger?.holdsOpen ?? 0, flush, flushSeconds]
  }

  /** What nobody has to wait for, once they have their answer. */
  afterwards(request: Request): void {
    if (committing.has(request[0])) this.#checkpointInTime()
  }

  /**
   * Writes of what is behind so many purses, if the database is free; gives whether some are left. Nothing is lost where it is refused:
   * whoever comes next takes in what the rows lack.
   */
  rest(most: number): boolean {
    if (this.#ledger?.isBehind !== true || this.#db.inTransaction || this.#flush.isInDoubt) return false
    try {
      this.#waitForDisk(false)
      this.#beginNow.run()
    } catch {
      return false
    }
    try {
      this.#ledger.writeBehind(most)
      this.#commitNow.run()
    } catch (error) {
      this.#met(error)
      this.#undo()
    }
    return this.#ledger.isBehind
  }

  #perform(request: Request, owner: string | undefined): readonly Result[] {
    try {
      if (owner !== this.#speaker) this.#hear(owner)
      switch (request[0]) {
        case 'open':
          // Opened by the constructor; this only asks whether that went well.
          return []
        case 'batch':
          return this.#batch(request[2])
        case 'query':
          return [this.#statements.run(request[1][1], request[1][2])]
        case 'begin':
          this.#waitForDisk(true)
          this.#begin()
          return []
        case 'commit':
          this.#commit()
          return []
        case 'rollback':
          if (this.#db.inTransaction) this.#db.exec('rollback')
          return []
        case 'enrol':
          return this.#enrol(request[1], request[2], request[3], request[4])
        case 'attach':
          return this.#step((ledger) => ledger.adopt(request[1], request[3], request[4]))
        case 'release':
          return this.#step((ledger) => ledger.release(request[1], request[2]))
        case 'close':
          this.rest(Infinity)
          this.#ledger?.leave()
          if (this.#flush.isInDoubt) this.#mendLog()
          // As before each checkpoint: what was written at rest nobody waits for, and nobody has flushed.
          else if (!this.#isFlushedNow()) throw notFlushed()
          this.#flush.close()
          // One file is all there is afterwards, also where somebody else still has it open; if not now, then by the last who closes it.
          this.#db.pragma('wal_checkpoint(truncate)')
          this.#db.close()
          return []
      }
    } catch (error) {
      return [this.#met(error)]
    }
  }

  /** Where SQLite's own flush failed, what was committed before it and is not flushed yet may be lost with it. */
  #met(error: unknown): FaultResult {
    if (error instanceof Sqlite.SqliteError && error.code === 'SQLITE_IOERR_FSYNC') this.#flush.doubt(error)
    return toFault(error)
  }

  #checkpointInTime(): void {
    if (!this.#flush.isUnderWay && !this.#flush.isInDoubt && this.#db.open && !this.#db.inTransaction)
      this.#checkpoints.inTime(() => this.#isFlushedNow())
  }

  #isFlushedNow(): boolean {
    try {
      this.#flush.now()
      return true
    } catch {
      return this.#isMended()
    }
  }

  /** No flush is believed that another one may take the failure of. */
  #isOnDisk(): boolean {
    return !this.#flush.isUnderWay && !this.#flush.isInDoubt && this.#isFlushedNow()
  }

  /** Few operations in a commit: hardly anybody waits for the next. */
  #askFlush(operations: number): AskedAlone {
    return operations <= few ? this.#flush.askAlone() : [this.#flush.ask(), 0]
  }

  #hear(owner: string | undefined): void {
    this.#ledger?.speakFor(owner)
    this.#speaker = owner
  }

  /** One step of the ledger's, on the disk when it returns. */
  #step(work: (ledger: LedgerStatements) => Result | void): readonly Result[] {
    const ledger = this.#ledger
    if (ledger === undefined) throw new Error('the process has not enrolled')
    this.#waitForDisk(true)
    this.#begin()
    try {
      const result = work(ledger)
      ledger.finish()
      this.#commitNow.run()
      ledger.committed()
      return result === undefined ? [] : [result]
    } catch (error) {
      this.#undo()
      throw error
    }
  }

  #enrol(name: string, pid: number, at: number, threads: readonly string[]): readonly Result[] {
    this.#waitForDisk(true)
    this.#begin()
    let ledger: LedgerStatements | undefined
    try {
      ledger = new LedgerStatements(this.#db, name, pid, at, () => this.#isOnDisk())
      for (const thread of threads) ledger.adopt(thread, pid, at)
      this.#ledger = ledger
    } catch (error) {
      ledger?.leave()
      this.#undo()
      throw error
    }
    this.#commit()
    return []
  }

  /** All together; where one of them breaks, each by itself, so that only that one is refused. */
  #batch(ops: readonly Op[]): readonly Result[] {
    this.#waitForDisk(false)
    try {
      return this.#together(ops)
    } catch (error) {
      this.#undo()
      const fault = this.#met(error)
      if (ops.length === 1 || hopeless(error)) return ops.map(() => fault)
    }
    return ops.map((op) => {
      try {
        const [result] = this.#together([op])
        return result ?? toFault(new Error('no result'))
      } catch (error) {
        this.#undo()
        return this.#met(error)
      }
    })
  }

  /** Waits for other processes' commits, up to the busy timeout. */
  #begin(): void {
    patiently(this.#busyTimeoutMs, () => {
      if (this.#flush.isInDoubt) this.#mendLogNow()
      this.#beginNow.run()
    })
  }

  /** Not while it is being flushed: whichever of the two fails, the other would seem to have succeeded. That flush's end mends it. */
  #mendLogNow(): void {
    if (this.#flush.isUnderWay) throw notFlushed()
    this.#mendLog()
  }

  /** Nothing more is written to a log in doubt, nor taken from it into the database. */
  #mendLog(): void {
    this.#beginNow.run()
    try {
      this.#flush.rewrite()
    } catch (error) {
      throw notFlushed(error)
    } finally {
      this.#db.exec('rollback')
    }
  }

  /** Where it cannot be just now, whoever begins a transaction next tries again, and hears why not. */
  #isMended(): boolean {
    try {
      this.#mendLog()
    } catch {
      return false
    }
    return true
  }

  #together(ops: readonly Op[]): readonly Result[] {
    this.#begin()
    const results = ops.map((op) => this.#apply(op))
    this.#ledger?.finish()
    this.#commitNow.run()
    this.#ledger?.committed()
    return results
  }

  #apply(op: Op): Result {
    if (op[0] === 'sql') {
      this.#ledger?.flush()
      try {
        return this.#statements.run(op[1], op[2])
      } catch (error) {
        // A statement that breaks a constraint undoes itself alone; what undoes the transaction concerns all.
        if (!this.#db.inTransaction || hopeless(error)) throw error
        return toFault(error)
      }
    }
    if (this.#ledger === undefined) throw new Error('the process has not enrolled')
    return this.#ledger.apply(op)
  }

  #commit(): void {
    try {
      // Since it began; its own flush would not tell, and the log is mended outside of transactions.
      if (this.#flush.isInDoubt) throw notFlushed()
      this.#commitNow.run()
    } catch (error) {
      // A commit that failed, say for want of space, may leave its transaction open.
      this.#undo()
      throw error
    }
  }

  #undo(): void {
    this.#ledger?.undone()
    if (this.#db.inTransaction) this.#db.exec('rollback')
  }

  #waitForDisk(durable: boolean): void {
    if (durable === this.#synchronous) return
    // Takes effect when it is compiled, so it cannot be prepared once and run again.
    this.#db.exec(durable ? 'pragma synchronous = full' : 'pragma synchronous = normal')
    this.#synchronous = durable
  }
}

/** Trying the rest one by one would only fail, and wait, as often. A damaged page concerns its own account alone. */
function hopeless(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && !/^SQLITE_(CONSTRAINT|CORRUPT|ERROR$)/.test(error.code)
}

/** As SQLite says it of its own flushes: whoever asked may try again. */
function notFlushed(reason?: unknown): Error {
  const why = reason instanceof Error ? `: ${reason.message}` : ''
  return new Sqlite.SqliteError(`the log could not be flushed${why}`, 'SQLITE_IOERR_FSYNC')
}

function toFault(error: unknown): FaultResult {
  const code = error instanceof Sqlite.SqliteError ? error.code : 'ERROR'
  return ['fault', code, error instanceof Error ? error.message : String(error)]
}

if (parentPort === null) throw new Error('this file is started by the writer, as a thread')
const port = parentPort
const thread = new WriterThread(workerData as WriterOptions, (flushed) => heard.flushed(flushed))
/** Rewound by each request: it runs out when there have been none for a while. */
const idle = setTimeout(rest, restAfterMs).unref()
const heard = new WriterLines(
  (request, owner) => {
    if (request[0] !== 'close') idle.refresh()
    return thread.answer(request, owner)
  },
  (request) => thread.afterwards(request),
)
heard.listen(port)

/** A little at a time, so that a request that comes meanwhile hardly waits. */
function rest(): void {
  if (thread.rest(restStep)) setImmediate(rest)
}
