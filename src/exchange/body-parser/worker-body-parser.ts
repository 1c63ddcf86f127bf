/**
 * Parses large requests in a worker, so that the main thread holds their bytes and their analysis, but never megabytes of strings or
 * objects. One worker, started on first use and again after it died; one request at a time.
 *
 * Gain: the longest stall for 2 MB of messages is 4.4 instead of 25.5 ms. It can be deleted once large bodies are rare or parsing is fast.
 */
import type { Clock, Timer } from '../../system/clock.ts'
import { Worker } from 'node:worker_threads'
import { GatewayError } from '../../errors.ts'
import { freeMemory } from '../../system/memory/free-memory.ts'
import { toTransferableChunks } from '../../system/memory/transferred-chunks.ts'
import type { AnalyzedChat, BodyParser, ChatExtension, TranslationRequest } from './body-parser.ts'
import { zeroUsage, ClientDisconnected } from '../exchange.ts'
import { ParsedChat } from './parsed-chat.ts'
import { BufferPool } from './buffer-pool.ts'
import { FairQueue } from './fair-queue.ts'
import type { ParseRequest, ParseReply, ParserWorkerOptions } from './parser-worker.ts'
import { TextLease } from './text-lease.ts'

export interface WorkerBodyParserOptions {
  /** Fields that the operator allows for any upstream. */
  readonly passRequestFields: readonly string[]
  /** The module that translates bodies of other API formats, and its settings. */
  readonly translator?: ParserWorkerOptions['translator']
  /** The module that translates long parts for targets, and what is known of the targets of each product now. */
  readonly preparer?: { readonly url: string; readonly listTargetFacts: () => NonNullable<ParseRequest['targetFacts']> }
  /** Maximum size of a body. */
  readonly maxBytes: number
  readonly clock: Clock
  /** Called when the worker died. */
  readonly onWorkerError: (error: Error) => void
  /** Called when a body was ended because it took too much of the thread's time. */
  readonly onCostlyBody: (body: CostlyBody) => void
  /** Maximum bytes of queued bodies, which only occupy memory. */
  readonly maxQueuedBytes?: number
  /** The CPU time of a body of any size; more is allowed in proportion to its size. */
  readonly baseBudgetMs?: number
  /** How often the worker's CPU time is read while it works. */
  readonly checkIntervalMs?: number
  /** After so many checks without any work it counts as hung. Checks and not a time, because a machine that stood still had none. */
  readonly maxIdleChecks?: number
  /** Maximum heap of the worker. */
  readonly maxHeapMb?: number
  /** The worker's program; tests use others. */
  readonly workerUrl?: URL
}

export interface CostlyBody {
  readonly account: string
  readonly bytes: number
  readonly cpuMs: number
}

const defaultMaxQueuedBytes = 256 * 1024 * 1024
/** Objects need up to twenty times the memory of their text; a request that needs more than this is rejected. */
const minHeapMb = 128
const heapMbPerMb = 8
const maxYoungHeapMb = 12
/** Several times what the most costly body within all other bounds takes. */
const defaultBaseBudgetMs = 2_000
const budgetMsPerMb = 200
/** Added for the first body of a worker, whose modules are loaded meanwhile. */
const startupBudgetMs = 2_000
const defaultCheckIntervalMs = 200
const defaultMaxIdleChecks = 150
/** A worker that works has used more between two checks, however busy the machine is. */
const minBusyMicros = 100

interface RunningWorker {
  readonly thread: Worker
  /** CPU time at the end of the last body, and at the last check. */
  usedMicros: number
  checkedMicros: number
  hasReplied: boolean
  /** Checks since it was last seen to work. */
  idleChecks: number
}

interface Job {
  readonly member: string
  readonly translation: TranslationRequest | null
  readonly extension: ParseRequest['extension']
  readonly bytes: number
  readonly chunks: readonly Buffer[]
  leasedBuffer: SharedArrayBuffer | null
  /** The client has disconnected. */
  isCancelled: boolean
  readonly resolve: (chat: AnalyzedChat) => void
  readonly reject: (error: Error) => void
}

export class WorkerBodyParser implements BodyParser {
  readonly #options: WorkerBodyParserOptions
  readonly #queue: FairQueue<Job>
  readonly #buffers = new BufferPool()
  #worker: RunningWorker | undefined
  #current: Job | undefined
  #checkTimer: Timer | undefined
  #closed = false

  constructor(options: WorkerBodyParserOptions) {
    this.#options = options
    this.#queue = new FairQueue(options.maxQueuedBytes ?? defaultMaxQueuedBytes, () => options.clock.monotonicMs())
  }

  parse(
    chunks: readonly Buffer[],
    member: string,
    onDisconnect: (listener: () => void) => void,
    translation: TranslationRequest | null = null,
  ): Promise<AnalyzedChat> {
    return this.#enqueue({ chunks, member, translation, extension: null }, onDisconnect)
  }

  extend(
    chat: AnalyzedChat,
    { messages, toolChoice }: ChatExtension,
    member: string,
    onDisconnect: (listener: () => void) => void,
  ): Promise<AnalyzedChat> {
    const bytes = chat.bytes + Buffer.byteLength(JSON.stringify(messages))
    const extension = { messages, toolChoice, format: chat.format, bytes }
    // A copy: the thread takes its bytes over, and the turn still needs its own.
    return this.#enqueue({ chunks: [Buffer.from(chat.text)], member, translation: null, extension }, onDisconnect)
  }

  #enqueue(
    request: Pick<Job, 'chunks' | 'member' | 'translation' | 'extension'>,
    onDisconnect: (listener: () => void) => void,
  ): Promise<AnalyzedChat> {
    if (this.#closed) return Promise.reject(new GatewayError('temporarily_unavailable'))
    return new Promise((resolve, reject) => {
      const bytes = request.chunks.reduce((sum, { length }) => sum + length, 0)
      const job: Job = { ...request, bytes, leasedBuffer: null, isCancelled: false, resolve, reject }
      onDisconnect(() => {
        job.isCancelled = true
        // A running job continues; its result is dropped.
        this.#queue.remove(job)
        reject(new ClientDisconnected(zeroUsage))
      })
      for (const evictedJob of this.#queue.enqueue(job))
        evictedJob.reject(new GatewayError('temporarily_unavailable', { retryAfter: 1 }))
      this.#startNext()
    })
  }

  abortAll(reason: Error): void {
    for (let job = this.#queue.dequeue(); job !== undefined; job = this.#queue.dequeue()) job.reject(reason)
    if (this.#current === undefined) return
    this.#current.isCancelled = true
    this.#current.reject(reason)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.abortAll(new GatewayError('temporarily_unavailable'))
    this.#checkTimer?.cancel()
    const worker = this.#worker
    this.#worker = undefined
    await worker?.thread.terminate()
  }

  #startNext(): void {
    if (this.#current !== undefined) return
    const job = this.#queue.dequeue()
    if (job === undefined) return
    this.#current = job
    const worker = (this.#worker ??= this.#spawnWorker())
    worker.idleChecks = 0
    this.#scheduleCheck(worker, job)
    job.leasedBuffer = this.#buffers.acquire(job.bytes)
    const request: ParseRequest = {
      chunks: toTransferableChunks(job.chunks),
      leasedBuffer: job.leasedBuffer,
      translation: job.translation,
      extension: job.extension,
      account: job.member,
      targetFacts: this.#options.preparer?.listTargetFacts() ?? null,
    }
    worker.thread.postMessage(
      request,
      request.chunks.map(({ buffer }) => buffer),
    )
  }

  #scheduleCheck(worker: RunningWorker, job: Job): void {
    const { checkIntervalMs = defaultCheckIntervalMs, clock } = this.#options
    this.#checkTimer = clock.after(checkIntervalMs, () => this.#check(worker, job))
  }

  /** Ends a body that takes more of the thread's time than its size explains, and a worker that does nothing. */
  #check(worker: RunningWorker, job: Job): void {
    const { maxIdleChecks = defaultMaxIdleChecks } = this.#options
    if (++worker.idleChecks > maxIdleChecks) {
      this.#handleWorkerDeath(worker, new Error('the worker for large requests did not respond'))
      void worker.thread.terminate()
      return
    }
    this.#scheduleCheck(worker, job)
    readCpuMicros(worker.thread).then(
      (micros) => {
        if (this.#current !== job || this.#worker !== worker) return
        if (micros - worker.checkedMicros >= minBusyMicros) worker.idleChecks = 0
        worker.checkedMicros = micros
        const cpuMs = (micros - worker.usedMicros) / 1000
        if (cpuMs > this.#getBudgetMs(worker, job)) this.#endCostlyBody(worker, job, cpuMs)
      },
      // It has just ended, which is handled elsewhere.
      () => undefined,
    )
  }

  #getBudgetMs({ hasReplied }: RunningWorker, { bytes }: Job): number {
    const { baseBudgetMs = defaultBaseBudgetMs } = this.#options
    return baseBudgetMs + (bytes / 2 ** 20) * budgetMsPerMb + (hasReplied ? 0 : startupBudgetMs)
  }

  /** Only a new thread ends the work of this one. */
  #endCostlyBody(worker: RunningWorker, job: Job, cpuMs: number): void {
    this.#worker = undefined
    void worker.thread.terminate()
    this.#clearCurrent()
    this.#queue.charge(job.member, cpuMs * 1000)
    this.#options.onCostlyBody({ account: job.member, bytes: job.bytes, cpuMs: Math.round(cpuMs) })
    job.reject(new GatewayError('payload_too_large', { message: tooCostlyMessage }))
    this.#startNext()
  }

  #spawnWorker(): RunningWorker {
    const { passRequestFields, translator = null, preparer, maxBytes, workerUrl = parserWorkerUrl } = this.#options
    const { maxHeapMb = Math.max(minHeapMb, (heapMbPerMb * maxBytes) / 2 ** 20) } = this.#options
    const thread = new Worker(workerUrl, {
      // The worker needs none of this process's options.
      execArgv: [],
      workerData: { passRequestFields, translator, preparerUrl: preparer?.url ?? null } satisfies ParserWorkerOptions,
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: maxYoungHeapMb },
    })
    const worker: RunningWorker = { thread, usedMicros: 0, checkedMicros: 0, hasReplied: false, idleChecks: 0 }
    thread.on('message', (reply: ParseReply) => this.#handleReply(worker, reply))
    const onDeath = (error: unknown) => this.#handleWorkerDeath(worker, error instanceof Error ? error : new Error(String(error)))
    thread.on('error', onDeath)
    thread.on('messageerror', onDeath)
    thread.on('exit', () => onDeath(new Error('the worker for large requests has ended')))
    return worker
  }

  #handleReply(worker: RunningWorker, reply: ParseReply): void {
    if (worker !== this.#worker) return
    const job = this.#clearCurrent()
    if (job !== undefined) {
      this.#queue.charge(job.member, reply.threadMicros - worker.usedMicros)
      this.#finishJob(job, reply)
    }
    worker.usedMicros = reply.threadMicros
    worker.checkedMicros = reply.threadMicros
    worker.hasReplied = true
    this.#startNext()
  }

  #finishJob({ leasedBuffer, isCancelled, resolve, reject }: Job, reply: ParseReply): void {
    const releaseBuffer = (): void => {
      if (leasedBuffer !== null) this.#buffers.release(leasedBuffer)
    }
    if (reply.kind === 'refused') {
      releaseBuffer()
      return reject(new GatewayError(reply.code, reply.details))
    }
    const { result, translated } = reply
    const { text } = result
    if (text !== null) releaseBuffer()
    const memory = text ?? leasedBuffer
    if (memory === null) throw new Error('the text was written nowhere')
    const release = text === null ? releaseBuffer : () => freeMemory(memory)
    if (isCancelled) return release()
    resolve(new ParsedChat(result, memory, { translated, lease: new TextLease(release) }))
  }

  /** The current request fails with the worker; the next one gets a new worker. */
  #handleWorkerDeath(worker: RunningWorker, error: Error): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    this.#options.onWorkerError(error)
    const isOutOfMemory = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
    const job = this.#clearCurrent()
    if (job !== undefined) {
      // What it used since the last check is not known.
      const { checkIntervalMs = defaultCheckIntervalMs } = this.#options
      this.#queue.charge(job.member, Math.max(0, worker.checkedMicros - worker.usedMicros) + checkIntervalMs * 1000)
    }
    job?.reject(
      isOutOfMemory
        ? new GatewayError('payload_too_large', { message: tooComplexMessage, cause: error })
        : new GatewayError('internal_error', { cause: error }),
    )
    this.#startNext()
  }

  #clearCurrent(): Job | undefined {
    this.#checkTimer?.cancel()
    const job = this.#current
    this.#current = undefined
    return job
  }
}

const tooComplexMessage = {
  en: 'Parsing the request body needs too much memory. Send fewer or simpler values.',
  zh: '请求内容解析所需内存过大，请减少或简化其中的值。',
}

const tooCostlyMessage = {
  en: 'The request body takes more time to process than its size allows. Send fewer or simpler values.',
  zh: '请求内容的处理时间超出其大小所允许的范围，请减少或简化其中的值。',
}

/** Versions of Node before 24.6 do not report it; there only the number of checks bounds a body. */
async function readCpuMicros(thread: Worker): Promise<number> {
  if (!('cpuUsage' in thread)) return 0
  const { user, system } = await thread.cpuUsage()
  return user + system
}

// In a checkout both files are TypeScript, in the published package JavaScript.
const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
const parserWorkerUrl = new URL(`./parser-worker${extension}`, import.meta.url)
