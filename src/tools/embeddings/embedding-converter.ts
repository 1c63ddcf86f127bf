/**
 * Converts answers of embedding upstreams: short ones at once, long ones in a thread, started on first use and again after it died. The
 * account that has used the least of its time is served next.
 *
 * Gain: 1 000 vectors of 1 536 numbers stop the serving thread for 4 instead of 400 ms. It can be deleted once long answers are rare.
 */
import { Worker } from 'node:worker_threads'
import { GatewayError } from '../../errors.ts'
import { FairQueue } from '../../exchange/body-parser/fair-queue.ts'
import { systemClock } from '../../system/clock.ts'
import type { Clock, Timer } from '../../system/clock.ts'
import { toTransferableChunks } from '../../system/memory/transferred-chunks.ts'
import type { EmbeddingOptions } from './convert-embeddings.ts'
import type { ConvertReply, ConvertRequest } from './converter-thread.ts'

/** A thread that takes longer counts as hung. */
const defaultTimeoutMs = 30_000
/** Maximum bytes of answers that wait. */
const maxQueuedBytes = 128 * 1024 * 1024
/** An answer's bytes are outside the heap; the largest vector and the frame of an answer take a tenth of this. */
const maxHeapMb = 128
const maxYoungHeapMb = 12

interface Job {
  readonly member: string
  readonly bytes: number
  readonly chunks: readonly Uint8Array[]
  readonly options: EmbeddingOptions
  readonly resolve: (reply: ConvertReply) => void
  readonly reject: (error: Error) => void
}

export class EmbeddingConverter {
  readonly #queue: FairQueue<Job>
  readonly #timeoutMs: number
  readonly #threadUrl: URL
  readonly #clock: Clock
  #worker: Worker | undefined
  #current: Job | undefined
  #watchdog: Timer | undefined
  #isClosed = false

  constructor({ timeoutMs = defaultTimeoutMs, threadUrl = converterUrl, clock = systemClock } = {}) {
    this.#queue = new FairQueue(maxQueuedBytes, () => clock.monotonicMs())
    this.#clock = clock
    this.#timeoutMs = timeoutMs
    this.#threadUrl = threadUrl
  }

  /** Takes the answer over: do not use its chunks afterwards. @throws GatewayError `temporarily_unavailable`, `internal_error` */
  convert(chunks: readonly Uint8Array[], member: string, options: EmbeddingOptions): Promise<ConvertReply> {
    if (this.#isClosed) return Promise.reject(new GatewayError('temporarily_unavailable'))
    return new Promise((resolve, reject) => {
      const bytes = chunks.reduce((sum, { length }) => sum + length, 0)
      const job: Job = { member, bytes, chunks, options, resolve, reject }
      for (const evictedJob of this.#queue.enqueue(job))
        evictedJob.reject(new GatewayError('temporarily_unavailable', { retryAfter: 1 }))
      this.#startNext()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const reason = new GatewayError('temporarily_unavailable')
    for (let job = this.#queue.dequeue(); job !== undefined; job = this.#queue.dequeue()) job.reject(reason)
    this.#takeCurrent()?.reject(reason)
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }

  #startNext(): void {
    if (this.#current !== undefined) return
    const job = this.#queue.dequeue()
    if (job === undefined) return
    this.#current = job
    // A conversion takes time in proportion to its bytes.
    this.#queue.charge(job.member, job.bytes)
    const worker = (this.#worker ??= this.#spawn())
    this.#watchdog = this.#clock.after(this.#timeoutMs, () => {
      this.#handleDeath(worker, new Error('the thread for embeddings did not respond in time'))
      void worker.terminate()
    })
    const chunks = toTransferableChunks(job.chunks)
    worker.postMessage(
      { ...job.options, chunks } satisfies ConvertRequest,
      chunks.map(({ buffer }) => buffer),
    )
  }

  #spawn(): Worker {
    const worker = new Worker(this.#threadUrl, {
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: maxYoungHeapMb },
    })
    // Only a conversion keeps the process alive.
    worker.unref()
    worker.on('message', (reply: ConvertReply) => {
      if (worker !== this.#worker) return
      this.#takeCurrent()?.resolve(reply)
      this.#startNext()
    })
    const onDeath = (error: unknown): void => this.#handleDeath(worker, error instanceof Error ? error : new Error(String(error)))
    worker.on('error', onDeath)
    worker.on('messageerror', onDeath)
    worker.on('exit', () => onDeath(new Error('the thread for embeddings has ended')))
    return worker
  }

  /** The current answer fails with the thread; the next one gets a new thread. */
  #handleDeath(worker: Worker, error: Error): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    const isOutOfMemory = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
    const job = this.#takeCurrent()
    if (isOutOfMemory) job?.resolve({ kind: 'failed', reason: 'too_large' })
    else job?.reject(new GatewayError('internal_error', { cause: error }))
    this.#startNext()
  }

  #takeCurrent(): Job | undefined {
    this.#watchdog?.cancel()
    const job = this.#current
    this.#current = undefined
    return job
  }
}

// In a checkout both files are TypeScript, in the published package JavaScript.
const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
const converterUrl = new URL(`./converter-thread${extension}`, import.meta.url)
