/** The writer thread: owns the only connection that writes, and executes each batch as one transaction. */
import { systemClock } from '../../../system/clock.ts'
import { parentPort, workerData } from 'node:worker_threads'
import { releaseStartMemory } from '../../../system/memory/release-start-memory.ts'
import { decodeOperation, encodeResult } from '../../ledger/operation-codec.ts'
import type { Statement } from 'better-sqlite3'
import type { Connection } from '../connection/connection.ts'
import { openForWriting } from '../connection/connection.ts'
import { LedgerExecutor } from '../ledger/ledger-executor.ts'
import { WalDurability } from './wal-durability.ts'
import type { InlineSync } from './wal-sync.ts'
import { retryWhileBusy } from '../connection/busy-retry.ts'
import type {
  FaultResult,
  FlushedMessage,
  WriterOp,
  WriterReply,
  WriterRequest,
  WriterResult,
  WriterOptions,
} from '../connection/writer-protocol.ts'
import { StatementCache } from '../connection/statement-cache.ts'
import { createSyncError, failsWholeBatch, toFault } from './writer-fault.ts'
import { WriterPorts } from './writer-ports.ts'
import type { OwnedBatch } from './writer-ports.ts'

/** After this time without a request, changed balances are written, this many in one transaction. */
const idleDelayMs = 500
const idleBatchSize = 256

const noSync: InlineSync = [0, 0]

/** Requests that end with a commit. */
const committingRequests: ReadonlySet<WriterRequest[0]> = new Set(['batch', 'commit', 'register', 'attach', 'release'])

class WriterThread {
  readonly #db: Connection
  readonly #statements: StatementCache
  readonly #beginStatement: Statement
  readonly #commitStatement: Statement
  /** Created when the process registers: before that the ledger's tables may not exist. */
  #ledger: LedgerExecutor | undefined
  #isSynchronous = true
  readonly #wal: WalDurability
  /** Owner of the last ledger operation. */
  #currentOwner: string | undefined
  readonly #busyTimeoutMs: number

  /** `onFlushed` receives the outcome of each flush that a reply has announced. */
  constructor(options: WriterOptions, onFlushed: (flushed: FlushedMessage) => void) {
    this.#db = openForWriting(options.file, options.busyTimeoutMs, options.allowCreate)
    this.#db.pragma('schema_version')
    this.#wal = new WalDurability(this.#db, options, onFlushed)
    this.#busyTimeoutMs = options.busyTimeoutMs
    // From here on only `#begin` waits, in shorter steps than the driver's.
    this.#db.pragma('busy_timeout = 0')
    this.#statements = new StatementCache(this.#db)
    this.#beginStatement = this.#db.prepare('begin immediate')
    this.#commitStatement = this.#db.prepare('commit')
  }

  /** `owner`: the thread of this process that sent the request; undefined for the process itself. */
  handle(request: WriterRequest, owner: string | undefined): WriterReply {
    if (request[0] === 'batch') return this.handleBatches([{ request, owner }])[0] as WriterReply
    const startedMs = systemClock.monotonicMs()
    const results = this.#perform(request, owner)
    const isCommit = committingRequests.has(request[0])
    const seconds = isCommit ? (systemClock.monotonicMs() - startedMs) / 1000 : 0
    return [results, seconds, isCommit && this.#isSynchronous, this.#ledger?.holdsOpen ?? 0, ...noSync]
  }

  /** The batches of several threads in one commit and at most one flush, whose times are in the first reply. */
  handleBatches(batches: readonly OwnedBatch[]): readonly WriterReply[] {
    const startedMs = systemClock.monotonicMs()
    const results = this.#performBatches(batches)
    const isDurable = (index: number): boolean =>
      batches[index]?.request[1] === true && results[index]?.some(([kind]) => kind !== 'fault') === true
    const operations = results.reduce((total, { length }) => total + length, 0)
    const [flush, flushSeconds] = results.some((_, index) => isDurable(index)) ? this.#wal.requestSync(operations) : noSync
    const seconds = (systemClock.monotonicMs() - startedMs) / 1000 - flushSeconds
    const holdsOpen = this.#ledger?.holdsOpen ?? 0
    return results.map((result, index) => {
      const times = index === 0 ? [seconds, flushSeconds] : [0, 0]
      return [result, times[0], false, holdsOpen, isDurable(index) ? flush : 0, times[1]] as WriterReply
    })
  }

  /** Work that no client has to wait for. */
  afterReply(request: WriterRequest): void {
    if (committingRequests.has(request[0])) this.#wal.checkpointIfDue()
  }

  /**
   * Writes up to `limit` changed balances if the database is free; returns whether some are left. A refused write loses nothing:
   * balances are replayed from the turns when they are next read.
   */
  writeBehind(limit: number): boolean {
    if (this.#ledger?.isDirty !== true || this.#db.inTransaction || this.#wal.hasFailed) return false
    try {
      this.#setSynchronous(false)
      this.#beginStatement.run()
    } catch {
      return false
    }
    try {
      this.#ledger.writeBehind(limit)
      this.#commitStatement.run()
    } catch (error) {
      this.#toFault(error)
      this.#rollback()
    }
    return this.#ledger.isDirty
  }

  #perform(request: WriterRequest, owner: string | undefined): readonly WriterResult[] {
    try {
      if (owner !== this.#currentOwner) this.#actAs(owner)
      switch (request[0]) {
        case 'open':
          // The constructor has opened the file; this reports only that it succeeded.
          return []
        case 'batch':
          return this.#batch(request[2])
        case 'query':
          return [this.#statements.run(request[1][1], request[1][2])]
        case 'begin':
          this.#setSynchronous(true)
          this.#begin()
          return []
        case 'commit':
          this.#commit()
          return []
        case 'rollback':
          if (this.#db.inTransaction) this.#db.exec('rollback')
          return []
        case 'register':
          return this.#register(request[1], request[2], request[3], request[4])
        case 'attach':
          return this.#runDurably((ledger) => ledger.register(request[1], request[3], request[4]))
        case 'release':
          return this.#runDurably((ledger) => encodeResult(ledger.releaseThread(request[1], request[2])))
        case 'close':
          this.writeBehind(Infinity)
          this.#ledger?.close()
          this.#wal.close()
          this.#db.close()
          return []
      }
    } catch (error) {
      return [this.#toFault(error)]
    }
  }

  /** Executes the operations of all batches in one commit; if one fails, each batch in a commit of its own. */
  #performBatches(batches: readonly OwnedBatch[]): readonly (readonly WriterResult[])[] {
    if (batches.length > 1)
      try {
        this.#setSynchronous(false)
        return this.#commitWith(() =>
          batches.map(({ request, owner }) => {
            if (owner !== this.#currentOwner) this.#actAs(owner)
            return request[2].map((op) => this.#apply(op))
          }),
        )
      } catch (error) {
        this.#rollback()
        const fault = this.#toFault(error)
        if (failsWholeBatch(error)) return batches.map(({ request }) => request[2].map(() => fault))
      }
    return batches.map(({ request, owner }) => this.#perform(request, owner))
  }

  #toFault(error: unknown): FaultResult {
    this.#wal.noteError(error)
    return toFault(error)
  }

  #actAs(owner: string | undefined): void {
    this.#ledger?.actAs(owner)
    this.#currentOwner = owner
  }

  /** Runs one step of the ledger; it is on disk when this returns. */
  #runDurably(work: (ledger: LedgerExecutor) => WriterResult | void): readonly WriterResult[] {
    const ledger = this.#ledger
    if (ledger === undefined) throw new Error('the process is not registered')
    this.#setSynchronous(true)
    this.#begin()
    try {
      const result = work(ledger)
      ledger.beforeCommit()
      this.#commitStatement.run()
      ledger.afterCommit()
      return result === undefined ? [] : [result]
    } catch (error) {
      this.#rollback()
      throw error
    }
  }

  #register(name: string, pid: number, at: number, threads: readonly string[]): readonly WriterResult[] {
    this.#setSynchronous(true)
    this.#begin()
    let ledger: LedgerExecutor | undefined
    try {
      ledger = new LedgerExecutor(this.#db, name, pid, at, () => this.#wal.isDurable())
      for (const thread of threads) ledger.register(thread, pid, at)
      this.#ledger = ledger
    } catch (error) {
      ledger?.close()
      this.#rollback()
      throw error
    }
    this.#commit()
    return []
  }

  /** Executes all operations in one commit; if one fails, each in a commit of its own, so that only that one is refused. */
  #batch(ops: readonly WriterOp[]): readonly WriterResult[] {
    this.#setSynchronous(false)
    try {
      return this.#applyAll(ops)
    } catch (error) {
      this.#rollback()
      const fault = this.#toFault(error)
      if (ops.length === 1 || failsWholeBatch(error)) return ops.map(() => fault)
    }
    return ops.map((op) => {
      try {
        const [result] = this.#applyAll([op])
        return result ?? toFault(new Error('no result'))
      } catch (error) {
        this.#rollback()
        return this.#toFault(error)
      }
    })
  }

  /** Waits for other processes' commits, up to the busy timeout. */
  #begin(): void {
    retryWhileBusy(this.#busyTimeoutMs, () => {
      this.#wal.repairIfFailed()
      this.#beginStatement.run()
    })
  }

  #applyAll(ops: readonly WriterOp[]): readonly WriterResult[] {
    return this.#commitWith(() => ops.map((op) => this.#apply(op)))
  }

  #commitWith<Results>(applyAll: () => Results): Results {
    this.#begin()
    const results = applyAll()
    this.#ledger?.beforeCommit()
    this.#commitStatement.run()
    this.#ledger?.afterCommit()
    return results
  }

  #apply(op: WriterOp): WriterResult {
    if (op[0] === 'sql') {
      this.#ledger?.flushBalances()
      try {
        return this.#statements.run(op[1], op[2])
      } catch (error) {
        // A constraint violation undoes only its own statement; an error that ends the transaction fails the whole batch.
        if (!this.#db.inTransaction || failsWholeBatch(error)) throw error
        return toFault(error)
      }
    }
    if (this.#ledger === undefined) throw new Error('the process is not registered')
    return encodeResult(this.#ledger.apply(decodeOperation(op)))
  }

  #commit(): void {
    try {
      // A flush has failed since the transaction began. The commit's own flush would not report that, and the WAL is repaired
      // outside of transactions.
      if (this.#wal.hasFailed) throw createSyncError()
      this.#commitStatement.run()
    } catch (error) {
      // A failed commit, for example on a full disk, may leave its transaction open.
      this.#rollback()
      throw error
    }
  }

  #rollback(): void {
    this.#ledger?.afterRollback()
    if (this.#db.inTransaction) this.#db.exec('rollback')
  }

  #setSynchronous(durable: boolean): void {
    if (durable === this.#isSynchronous) return
    // Takes effect when it is compiled, so it cannot be prepared once and reused.
    this.#db.exec(durable ? 'pragma synchronous = full' : 'pragma synchronous = normal')
    this.#isSynchronous = durable
  }
}

if (parentPort === null) throw new Error('this file is started by the writer, as a thread')
const port = parentPort
const thread = new WriterThread(workerData as WriterOptions, (flushed) => ports.reportFlushed(flushed))
/** Restarted by each request; fires after a pause. */
const idleTimer = systemClock.after(idleDelayMs, runIdleWork).unref()
const ports = new WriterPorts({
  handle(request, owner) {
    if (request[0] !== 'close') idleTimer.restart()
    return thread.handle(request, owner)
  },
  handleBatches(batches) {
    idleTimer.restart()
    return thread.handleBatches(batches)
  },
  afterReply: (request) => thread.afterReply(request),
})
ports.listen(port)

/** At the first pause, what the start has left in the heap. */
const releaseOnce = createReleaseOnce()

function createReleaseOnce(): () => void {
  let isReleased = false
  return () => {
    if (!isReleased) releaseStartMemory()
    isReleased = true
  }
}

/** In small steps, so that a request that arrives meanwhile hardly waits. */
function runIdleWork(): void {
  if (thread.writeBehind(idleBatchSize)) return void setImmediate(runIdleWork)
  releaseOnce()
}
