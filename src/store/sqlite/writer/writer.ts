/**
 * The writer as seen from a serving thread: it collects operations while a commit is in progress and sends them together as the
 * next batch. One request is in flight at a time, so operations that arrive together share a transaction. A durable operation
 * resolves when a flush that began after its commit is done; other commits go on meanwhile.
 */
import { MessageChannel } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import type { LedgerStats } from '../../../domain/billing/ledger.ts'
import type { FlushedMessage, WriterOp, WriterReply, WriterRequest, WriterResult } from '../connection/writer-protocol.ts'
import type { EncodedResult } from '../../ledger/operation-codec.ts'
import { decodeResult, encodeOperation } from '../../ledger/operation-codec.ts'
import type { LedgerOperation, LedgerResult, SweepResult } from '../../ledger/operations.ts'
import { diskFullCode, unwrapReply, DatabaseError, toRetryableError, toError, unwritableCodes } from './database-error.ts'
import { CommitDelay } from './commit-delay.ts'
import { defaultTransactionTimeoutMs, Transaction } from './transaction.ts'
import type { ConnectWriter, WriterConnection } from './writer-connection.ts'

/** Further operations are refused at once: an early error is better than an unbounded queue. */
const maxQueuedOperations = 10_000
/** Operations of one commit. Bounds how long the first of them waits for the last. */
const maxBatchSize = 512
/** Commit durations kept between two reads of the statistics. */
const maxSamples = 4096
interface QueuedOperation {
  readonly op: WriterOp
  readonly durable: boolean
  readonly resolve: (result: WriterResult) => void
  readonly reject: (error: unknown) => void
}

/** Committed, and waiting for its flush. */
interface UnsyncedOperation {
  readonly flush: number
  readonly operation: QueuedOperation
  readonly result: WriterResult
}

/** A request for exclusive use of the writer. */
interface QueuedExclusive {
  readonly enter: () => void
  readonly reject: (error: unknown) => void
}

type WriterStats = Required<Omit<LedgerStats, 'unhealthyReason' | 'pendingSettlements' | 'pendingSince'>>

export class Writer {
  readonly #connect: ConnectWriter
  /** Undefined after the connection has ended; the next operation makes a new one. */
  #connection: WriterConnection | undefined
  /** Registration to repeat with the next thread. */
  #registration: readonly [name: string, pid: number, at: number] | undefined
  #isRegistered: boolean
  /** Threads of this process that own holds. */
  readonly #threads = new Set<string>()
  /** Counts connections: an exclusive use of an earlier connection must not release a later one. */
  #generation = 0
  readonly #transactionLimitMs: number
  readonly #onFault: (fault: DatabaseError) => void
  readonly #queue: (QueuedOperation | QueuedExclusive)[] = []
  /** In the order of their flushes. */
  readonly #unsynced: UnsyncedOperation[] = []
  /** Called when the last of them is done. */
  #onAllSynced = (): void => undefined
  #outstanding: { readonly resolve: (reply: WriterReply) => void; readonly reject: (error: unknown) => void } | undefined
  readonly #commitDelay: CommitDelay
  #isScheduled = false
  #isBusy = false
  /** Set once, when the writer is closed. */
  #closedReason: Error | undefined
  #commits = 0
  #operations = 0
  #syncs = 0
  #holdsOpen = 0
  #releasedHolds = 0
  #writable = true
  #isDiskFull = false
  #commitSeconds: number[] = []
  #flushSeconds: number[] = []

  /** `onFault` receives each failure of the database; `isRegistered` if another writer registers the process. */
  constructor(
    connect: ConnectWriter,
    transactionLimitMs = defaultTransactionTimeoutMs,
    onFault: (fault: DatabaseError) => void = () => {},
    isRegistered = false,
    commitDelay = new CommitDelay(),
  ) {
    this.#isRegistered = isRegistered
    this.#commitDelay = commitDelay
    this.#connect = connect
    this.#transactionLimitMs = transactionLimitMs
    this.#onFault = onFault
  }

  /** Resolves when the thread has opened the file. @throws the reason if it could not */
  async ready(): Promise<void> {
    unwrapReply(await this.#requestExclusively(['open']))
  }

  /** Resolves once the operation is committed, and on disk if `durable`. @throws if it was not */
  submit(op: WriterOp, durable: boolean): Promise<WriterResult> {
    if (this.#closedReason !== undefined) return Promise.reject(toRetryableError(this.#closedReason))
    if (this.#queue.length >= maxQueuedOperations)
      return Promise.reject(toRetryableError(new Error('too many operations are waiting for the writer')))
    return new Promise((resolve, reject) => {
      this.#queue.push({ op, durable, resolve, reject })
      this.#schedule()
    })
  }

  /** The same for an operation of the ledger. */
  async apply(operation: LedgerOperation, durable: boolean): Promise<LedgerResult> {
    return decodeResult((await this.submit(encodeOperation(operation), durable)) as EncodedResult)
  }

  /** Waits for the writer and opens an exclusive transaction; always `commit` or `rollback` it. */
  async begin(): Promise<Transaction> {
    if (this.#closedReason !== undefined) throw toRetryableError(this.#closedReason)
    await this.#acquire()
    try {
      unwrapReply(await this.#request(['begin']))
    } catch (error) {
      this.#release()
      throw error
    }
    const generation = this.#generation
    return new Transaction(
      (request) =>
        generation === this.#generation
          ? this.#request(request)
          : Promise.reject(toRetryableError(new Error('the writer died meanwhile'))),
      () => this.#release(generation),
      // Before it is registered a process migrates the schema: no client waits yet, and a migration may take long.
      this.#isRegistered ? this.#transactionLimitMs : undefined,
    )
  }

  /** Registers this process as an owner of holds. */
  async register(name: string, pid: number, at: number): Promise<void> {
    unwrapReply(await this.#requestExclusively(['register', name, pid, at, []]))
    this.#registration = [name, pid, at]
    this.#isRegistered = true
  }

  /**
   * Returns a port for another thread of this process. The thread owns its holds until it is released, also across a restart of
   * the writer thread.
   */
  async attachThread(name: string, pid: number, at: number): Promise<MessagePort> {
    const { port1, port2 } = new MessageChannel()
    this.#threads.add(name)
    unwrapReply(await this.#requestExclusively(['attach', name, port2, pid, at], [port2]))
    return port1
  }

  /** Settles an ended thread's holds as its journal says, or releases them. If this fails, the next sweep does it. */
  async releaseThread(name: string, at: number): Promise<SweepResult> {
    this.#threads.delete(name)
    const result = unwrapReply(await this.#requestExclusively(['release', name, at]))
    if (result?.[0] !== 'swept') throw new Error('the writer returned no result')
    return decodeResult(result)
  }

  stats(): WriterStats {
    const [commitSeconds, flushSeconds] = [this.#commitSeconds, this.#flushSeconds]
    this.#commitSeconds = []
    this.#flushSeconds = []
    return {
      queue: this.#queue.length,
      commits: this.#commits,
      operations: this.#operations,
      syncs: this.#syncs,
      commitSeconds,
      flushSeconds,
      holdsOpen: this.#holdsOpen,
      releasedHolds: this.#releasedHolds,
      writable: this.writable,
      isDiskFull: this.isDiskFull,
    }
  }

  /** Whether the last request was refused because the disk is full. */
  get isDiskFull(): boolean {
    return this.#isDiskFull
  }

  /** Whether the last request was not refused because of the database. */
  get writable(): boolean {
    return this.#writable && this.#closedReason === undefined
  }

  /** Operations submitted before are still written; later ones are refused. */
  async close(): Promise<void> {
    if (this.#closedReason !== undefined) return
    const isIdle = this.#connection === undefined && this.#queue.length === 0
    const last = isIdle ? undefined : this.#acquire()
    this.#closedReason = new Error('the store is closed')
    await last
    // Waits also for operations that are committed but not flushed.
    if (this.#unsynced.length > 0) await new Promise<void>((resolve) => (this.#onAllSynced = resolve))
    await this.#connection?.close()
  }

  async #requestExclusively(request: WriterRequest, transfer?: readonly MessagePort[]): Promise<WriterReply> {
    await this.#acquire()
    const generation = this.#generation
    try {
      return await this.#request(request, transfer)
    } finally {
      this.#release(generation)
    }
  }

  /** Resolves when the writer is exclusive to the caller, until `#release`. */
  #acquire(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ enter: resolve, reject })
      this.#schedule()
    })
  }

  /** Runs at the end of this turn of the event loop, so that operations of the same turn share a batch. */
  #schedule(): void {
    if (this.#isBusy || this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#next()
    })
  }

  #next(): void {
    const first = this.#queue[0]
    if (this.#isBusy || first === undefined) return
    if (this.#connection !== undefined && this.#commitDelay.shouldWait(this.#queue.length)) return this.#schedule()
    this.#isBusy = true
    if (this.#connection === undefined) {
      void this.#start()
      return
    }
    if ('enter' in first) {
      this.#commitDelay.recordBatch(0)
      this.#queue.shift()
      first.enter()
      return
    }
    const count = this.#queue.findIndex((waiting, index) => 'enter' in waiting || index === maxBatchSize)
    const batch = this.#queue.splice(0, count === -1 ? this.#queue.length : count).filter((waiting) => 'op' in waiting)
    this.#commitDelay.recordBatch(batch.length)
    void this.#commit(batch)
  }

  async #commit(batch: readonly QueuedOperation[]): Promise<void> {
    const generation = this.#generation
    try {
      const [results, , , , flush] = await this.#request([
        'batch',
        batch.some((waiting) => waiting.durable),
        batch.map((waiting) => waiting.op),
      ])
      this.#operations += batch.length
      batch.forEach((operation, index) => {
        const result = results[index]
        if (result === undefined) operation.reject(toRetryableError(new Error('the writer returned no result')))
        else if (result[0] === 'fault') operation.reject(toError(result))
        else if (operation.durable && flush > 0) this.#unsynced.push({ flush, operation, result })
        else operation.resolve(result)
      })
    } catch (error) {
      for (const queuedOperation of batch) queuedOperation.reject(error)
    }
    this.#release(generation)
  }

  #release(generation = this.#generation): void {
    if (generation !== this.#generation) return
    this.#isBusy = false
    this.#next()
  }

  #request(request: WriterRequest, transfer?: readonly MessagePort[]): Promise<WriterReply> {
    return new Promise((resolve, reject) => {
      this.#outstanding = { resolve, reject }
      this.#connection?.post(request, transfer)
    })
  }

  #recordFlush(seconds: number): void {
    this.#syncs += 1
    if (this.#flushSeconds.length < maxSamples) this.#flushSeconds.push(seconds)
  }

  /** Opens the first connection, or a new one after the thread has died. */
  async #start(): Promise<void> {
    const generation = this.#generation
    const onEnd = (error: Error): void => {
      if (generation === this.#generation) this.#disconnected(error)
    }
    let connection: WriterConnection | undefined
    try {
      const onMessage = (message: WriterReply | FlushedMessage): void => {
        if (generation !== this.#generation) return
        if (message[0] === 'flushed') this.#handleFlushed(message)
        else this.#handleReply(message)
      }
      connection = await this.#connect({ onMessage, onEnd })
      if (generation !== this.#generation) return
      this.#connection = connection
      if (this.#registration !== undefined)
        unwrapReply(await this.#request(['register', ...this.#registration, [...this.#threads]]))
      this.#release(generation)
    } catch (error) {
      // A thread that cannot register is of no use; if it died of that, the queue has been rejected already.
      onEnd(error instanceof Error ? error : new Error(String(error)))
      await connection?.terminate()
    }
  }

  #handleReply(reply: WriterReply): void {
    const [results, seconds, synced, holdsOpen, , flushSeconds] = reply
    if (seconds > 0) {
      this.#commits += 1
      if (synced) this.#syncs += 1
      if (this.#commitSeconds.length < maxSamples) this.#commitSeconds.push(seconds)
    }
    if (flushSeconds > 0) this.#recordFlush(flushSeconds)
    this.#holdsOpen = holdsOpen
    for (const result of results) {
      if (result[0] === 'fault') this.#onFault(new DatabaseError(result[1], result[2]))
      // Every release passes here: at the start, by `expire`, and after the end of a thread.
      if (result[0] === 'swept') this.#releasedHolds += decodeResult(result).expired
    }
    this.#writable = !results.some((result) => result[0] === 'fault' && unwritableCodes.test(result[1]))
    this.#isDiskFull = results.some((result) => result[0] === 'fault' && result[1] === diskFullCode)
    const outstandingRequest = this.#outstanding
    this.#outstanding = undefined
    outstandingRequest?.resolve(reply)
  }

  /** A commit whose flush failed may be lost in a power loss: its senders get the same error as for a lost commit. */
  #handleFlushed([, upTo, seconds, fault, wasRepaired]: FlushedMessage): void {
    this.#recordFlush(seconds)
    if (fault !== null) this.#onFault(new DatabaseError(fault[1], fault[2]))
    const refusal = fault === null || wasRepaired ? undefined : toError(fault)
    if (refusal !== undefined) this.#writable = false
    const later = this.#unsynced.findIndex(({ flush }) => flush > upTo)
    for (const { operation, result } of this.#unsynced.splice(0, later === -1 ? this.#unsynced.length : later)) {
      if (refusal === undefined) operation.resolve(result)
      else operation.reject(refusal)
    }
    if (this.#unsynced.length === 0) this.#onAllSynced()
  }

  /**
   * The outcome of the request in flight is unknown, which its sender must handle; queued operations are refused; the next one
   * opens a new connection.
   */
  #disconnected(error: Error): void {
    this.#connection = undefined
    this.#generation += 1
    this.#isBusy = false
    this.#writable = false
    const refusal = toRetryableError(error)
    this.#outstanding?.reject(refusal)
    this.#outstanding = undefined
    for (const { operation } of this.#unsynced.splice(0)) operation.reject(refusal)
    this.#onAllSynced()
    for (const queuedItem of this.#queue.splice(0)) queuedItem.reject(refusal)
  }
}
