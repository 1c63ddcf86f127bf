/** The ledger queue as seen from the serving thread. The queue has a thread of its own, so that its work does not delay requests. */
import { Worker } from 'node:worker_threads'
import { GatewayError } from '../../../errors.ts'
import type { EncodedAccountOperation, EncodedAccountResult } from '../../ledger/operation-codec.ts'
import { decodeResult, encodeOperation } from '../../ledger/operation-codec.ts'
import type { AccountOperation, AccountResult } from '../../ledger/operations.ts'
import { createUnavailableError } from '../connection/errors.ts'

export interface LedgerQueueStats {
  readonly queue: number
  readonly commits: number
  readonly operations: number
  readonly commitSeconds: readonly number[]
  readonly holdsOpen: number
  readonly syncs: number
  readonly writable: boolean
  readonly isDiskFull?: boolean
  /** Settlements that wait because no transaction can be made. */
  readonly pendingSettlements: number
  readonly pendingSince: number | null
}

/** A ledger queue, in this thread or behind a connection. */
export interface LedgerQueueHandle {
  submit(operation: AccountOperation): Promise<AccountResult>
  releaseHolds(owner: number, at: number, leaseUntil?: number): Promise<number>
  stats(): LedgerQueueStats
  close(timeoutMs: number): Promise<void>
}

export interface LedgerQueueWorkerData {
  readonly url: string
  /** Of a `SeenDatabase`. */
  readonly seen?: SharedArrayBuffer
}

export type WithId<Payload> = readonly [number: number, payload: Payload]

export type LedgerQueueRequest =
  /** `owner`: this node's current id. `isRetry`: another queue thread may have executed these operations already. */
  | readonly [kind: 'ops', owner: number, isRetry: boolean, ops: readonly WithId<EncodedAccountOperation>[]]
  | readonly [kind: 'release', owner: number, call: WithId<readonly [owner: number, at: number, leaseUntil: number | undefined]>]
  | readonly [kind: 'close', timeoutMs: number]

export type LedgerQueueAnswer = EncodedAccountResult | readonly [kind: 'released', count: number] | LedgerQueueFault
type LedgerQueueFault = readonly [kind: 'fault', fault: 'disk_full' | 'unavailable' | 'internal', message: string]

/** Answers as they come, with the queue's statistics. The thread of a closed queue ends after its last reply. */
export type LedgerQueueReply = readonly [answers: readonly WithId<LedgerQueueAnswer>[], stats: LedgerQueueStats]

interface PendingCall {
  /** Null: must not be repeated by a new thread. */
  readonly op: EncodedAccountOperation | null
  readonly settle: (answer: LedgerQueueAnswer) => void
}

const emptyStats: LedgerQueueStats = {
  queue: 0,
  commits: 0,
  operations: 0,
  syncs: 0,
  commitSeconds: [],
  holdsOpen: 0,
  writable: true,
  pendingSettlements: 0,
  pendingSince: null,
}

export class LedgerQueueConnection implements LedgerQueueHandle {
  readonly #workerData: LedgerQueueWorkerData
  readonly #owner: () => number
  readonly #calls = new Map<number, PendingCall>()
  #worker: Worker
  #lastId = 0
  /** Operations of this turn of the event loop. */
  #outgoing: WithId<EncodedAccountOperation>[] = []
  #stats = emptyStats
  /** Durations of commits since the last call of `stats`. */
  #commitSeconds: number[] = []
  #isClosed = false
  #closing: Promise<void> | undefined

  constructor(workerData: LedgerQueueWorkerData, owner: () => number) {
    this.#workerData = workerData
    this.#owner = owner
    this.#worker = this.#startWorker()
  }

  async submit(operation: AccountOperation): Promise<AccountResult> {
    const op = encodeOperation(operation)
    const answer = await this.#call(op, (id) => {
      this.#outgoing.push([id, op])
      if (this.#outgoing.length === 1) setImmediate(() => this.#flush())
    })
    if (answer[0] === 'released') throw new Error('unexpected result from the ledger queue')
    return decodeResult(answer)
  }

  async releaseHolds(holder: number, at: number, leaseUntil?: number): Promise<number> {
    const answer = await this.#call(null, (id) => this.#post(['release', this.#owner(), [id, [holder, at, leaseUntil]]]))
    if (answer[0] !== 'released') throw new Error('unexpected result from the ledger queue')
    return answer[1]
  }

  stats(): LedgerQueueStats {
    const commitSeconds = this.#commitSeconds
    this.#commitSeconds = []
    return { ...this.#stats, queue: this.#calls.size, commitSeconds }
  }

  close(timeoutMs: number): Promise<void> {
    return (this.#closing ??= this.#close(timeoutMs))
  }

  async #close(timeoutMs: number): Promise<void> {
    this.#isClosed = true
    const worker = this.#worker
    const exitEvent = new Promise((resolve) => worker.once('exit', resolve))
    worker.ref()
    setImmediate(() => worker.postMessage(['close', timeoutMs] satisfies LedgerQueueRequest))
    await exitEvent
  }

  async #call(
    op: EncodedAccountOperation | null,
    send: (id: number) => void,
  ): Promise<Exclude<LedgerQueueAnswer, LedgerQueueFault>> {
    if (this.#isClosed) throw createUnavailableError()
    const answer = await new Promise<LedgerQueueAnswer>((settle) => {
      this.#lastId += 1
      this.#calls.set(this.#lastId, { op, settle })
      send(this.#lastId)
    })
    if (answer[0] !== 'fault') return answer
    const [, fault, message] = answer
    const cause = new Error(message)
    if (fault === 'internal') throw new GatewayError('internal_error', { retryAfter: 1, cause })
    throw createUnavailableError(cause, fault === 'disk_full')
  }

  #flush(): void {
    const ops = this.#outgoing
    this.#outgoing = []
    this.#post(['ops', this.#owner(), false, ops])
  }

  #post(message: LedgerQueueRequest): void {
    this.#worker.postMessage(message)
  }

  #startWorker(): Worker {
    // From source both files are TypeScript, in the published package JavaScript.
    const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
    const worker = new Worker(new URL(`./ledger-queue-thread${extension}`, import.meta.url), { workerData: this.#workerData })
    worker.unref()
    worker.on('message', ([answers, stats]: LedgerQueueReply) => {
      this.#stats = stats
      for (const seconds of stats.commitSeconds) this.#commitSeconds.push(seconds)
      for (const [id, answer] of answers) this.#answer(id, answer)
    })
    let reason = 'the ledger thread has ended'
    worker.on('error', (error) => (reason = `the ledger thread died: ${String(error)}`))
    worker.on('exit', () => this.#onExit(worker, reason))
    return worker
  }

  #answer(id: number, answer: LedgerQueueAnswer): void {
    const call = this.#calls.get(id)
    this.#calls.delete(id)
    call?.settle(answer)
  }

  /** A new thread repeats the idempotent operations. A hold whose id was lost with the thread ends with its lease. */
  #onExit(worker: Worker, reason: string): void {
    if (worker !== this.#worker) return
    const retriedOperations: WithId<EncodedAccountOperation>[] = []
    const outgoingIds = new Set(this.#outgoing.map(([id]) => id))
    for (const [id, { op }] of this.#calls) {
      if (outgoingIds.has(id)) continue
      if (this.#isClosed || op === null || op[0] === 'reserve')
        this.#answer(id, ['fault', this.#isClosed ? 'unavailable' : 'internal', reason])
      else retriedOperations.push([id, op])
    }
    if (this.#isClosed) return
    this.#worker = this.#startWorker()
    if (retriedOperations.length > 0) this.#post(['ops', this.#owner(), true, retriedOperations])
  }
}
