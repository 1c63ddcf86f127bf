/** Thread of the ledger queue: executes operations of the serving thread and sends back the results. */
import { systemClock } from '../../../system/clock.ts'
import type { Timer } from '../../../system/clock.ts'
import { parentPort, workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { GatewayError } from '../../../errors.ts'
import { diskFullRetrySeconds } from '../../database.ts'
import { decodeOperation, encodeResult } from '../../ledger/operation-codec.ts'
import { Connections } from '../connection/connections.ts'
import { SeenDatabase } from '../connection/seen-database.ts'
import { LedgerQueue } from './ledger-queue.ts'
import { plannerSettings } from './planner-settings.ts'
import type {
  LedgerQueueAnswer,
  LedgerQueueReply,
  LedgerQueueWorkerData,
  WithId,
  LedgerQueueRequest,
} from './ledger-queue-connection.ts'

/** How often it sends statistics while operations are pending, and once after that. */
const flushMs = 250

class LedgerQueueThread {
  readonly #port: MessagePort
  readonly #connections: Connections
  readonly #queue: LedgerQueue
  readonly #flushTimer: Timer
  /** This node's id, as of the last request. */
  #owner = 0
  #answers: WithId<LedgerQueueAnswer>[] = []

  private constructor(port: MessagePort, { url, seen }: LedgerQueueWorkerData) {
    this.#port = port
    this.#connections = new Connections({ url, seen: new SeenDatabase(seen), max: 2, settings: plannerSettings })
    this.#queue = new LedgerQueue(this.#connections, () => this.#owner)
    let wasBusy = false
    const flushIfBusy = (): void => {
      const { isBusy } = this.#queue
      if (isBusy || wasBusy) this.#flush()
      wasBusy = isBusy
    }
    this.#flushTimer = systemClock.every(flushMs, flushIfBusy).unref()
  }

  static start(port: MessagePort, workerData: LedgerQueueWorkerData): void {
    const thread = new LedgerQueueThread(port, workerData)
    port.on('message', (message: LedgerQueueRequest) => thread.#handle(message))
  }

  #handle(message: LedgerQueueRequest): void {
    if (message[0] === 'close') {
      void this.#close(message[1])
      return
    }
    this.#owner = message[1]
    if (message[0] === 'ops') {
      const [, , isRetry, ops] = message
      for (const [id, op] of ops)
        void this.#answer(
          id,
          this.#queue.submit(decodeOperation(op), isRetry).then((result) => encodeResult(result)),
        )
      return
    }
    const [id, [holder, at, leaseUntil]] = message[2]
    const releaseAnswer = this.#queue.releaseHolds(holder, at, leaseUntil).then((count): LedgerQueueAnswer => ['released', count])
    void this.#answer(id, releaseAnswer)
  }

  async #answer(id: number, work: Promise<LedgerQueueAnswer>): Promise<void> {
    const answer = await work.catch(toFault)
    this.#answers.push([id, answer])
    // Answers of one batch leave together.
    if (this.#answers.length === 1) setImmediate(() => this.#flush())
  }

  #flush(): void {
    const answers = this.#answers
    this.#answers = []
    this.#port.postMessage([answers, this.#queue.stats()] satisfies LedgerQueueReply)
  }

  async #close(timeoutMs: number): Promise<void> {
    this.#flushTimer.cancel()
    await this.#queue.close(timeoutMs)
    await this.#connections.close()
    setImmediate(() => {
      this.#flush()
      this.#port.close()
    })
  }
}

/** Errors meant for callers are passed on; the rest is for the log. */
function toFault(error: unknown): LedgerQueueAnswer {
  const { cause } = error as Error
  const reason = cause instanceof Error ? cause : error
  const isUnavailable = error instanceof GatewayError && error.code === 'temporarily_unavailable'
  const isFull = isUnavailable && error.details.retryAfter === diskFullRetrySeconds
  return [
    'fault',
    isFull ? 'disk_full' : isUnavailable ? 'unavailable' : 'internal',
    reason instanceof Error ? reason.message : String(reason),
  ]
}

if (parentPort === null) throw new Error('this file is started by a store, as a thread')
LedgerQueueThread.start(parentPort, workerData as LedgerQueueWorkerData)
