/**
 * Large requests, handed to a thread and back: the main thread has their bytes and what was worked out of them, never the megabytes as
 * text or objects. One thread, begun when it is first needed and anew where it has died; one request in it at a time.
 */
import { Worker } from 'node:worker_threads'
import { GatewayError } from '../../errors.ts'
import type { ChatRequest } from '../chat-request.ts'
import { nothingUsed } from '../exchange.ts'
import { ClientLeft } from '../outcome.ts'
import { LargeChat } from './large-chat.ts'
import { Lending, LentMemory } from './lent-memory.ts'
import { Lines } from './lines.ts'
import type { Order, Reply, ThreadOptions } from './thread.ts'

export interface LargeBodiesOptions {
  /** Fields that operators let through to any upstream. */
  readonly passFields: readonly string[]
  /** The largest body there is. */
  readonly mostBytes: number
  /** Told when the thread has died. */
  readonly onFault: (error: Error) => void
  /** After so long the thread has lost its way. */
  readonly limitMs?: number
  /** What the thread may use of memory. */
  readonly heapMb?: number
  /** The thread's program; tests bring others. */
  readonly program?: URL
}

/** Bodies that wait together: memory that is held for nothing. */
const mostWaiting = 256 * 1024 * 1024
/** Objects take more than the text they come from, up to twenty times as much; what takes more than this is refused. */
const leastHeapMb = 512
const heapMbPerMb = 8
const defaultLimitMs = 30_000

interface Job {
  readonly member: string
  readonly bytes: number
  readonly chunks: readonly Buffer[]
  lent: SharedArrayBuffer | null
  /** Nobody waits for it any more. */
  isLeft: boolean
  readonly resolve: (chat: ChatRequest) => void
  readonly reject: (error: Error) => void
}

export class LargeBodies {
  readonly #options: LargeBodiesOptions
  readonly #waiting = new Lines<Job>(mostWaiting)
  readonly #memory = new LentMemory()
  #worker: Worker | undefined
  #working: Job | undefined
  #watch: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: LargeBodiesOptions) {
    this.#options = options
  }

  /**
   * The request in these bytes, which are gone afterwards. `onLeave` tells of a client who waits no longer.
   *
   * @throws GatewayError as `parseChatRequest`; `temporarily_unavailable` where too much waits; `payload_too_large` where it takes too much
   * memory. @throws ClientLeft
   */
  read(chunks: readonly Buffer[], member: string, onLeave: (listener: () => void) => void): Promise<ChatRequest> {
    if (this.#closed) return Promise.reject(new GatewayError('temporarily_unavailable'))
    return new Promise((resolve, reject) => {
      const bytes = chunks.reduce((sum, { length }) => sum + length, 0)
      const job: Job = { member, bytes, chunks, lent: null, isLeft: false, resolve, reject }
      onLeave(() => {
        job.isLeft = true
        // What is being worked on goes on; nobody hears of it.
        this.#waiting.remove(job)
        reject(new ClientLeft(nothingUsed))
      })
      for (const gone of this.#waiting.add(job)) gone.reject(new GatewayError('temporarily_unavailable', { retryAfter: 1 }))
      this.#next()
    })
  }

  /** Refuses all that wait, with this failure: the drain time is over. */
  abortAll(reason: Error): void {
    for (let job = this.#waiting.next(); job !== undefined; job = this.#waiting.next()) job.reject(reason)
    if (this.#working === undefined) return
    this.#working.isLeft = true
    this.#working.reject(reason)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.abortAll(new GatewayError('temporarily_unavailable'))
    clearTimeout(this.#watch)
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }

  #next(): void {
    if (this.#working !== undefined) return
    const job = this.#waiting.next()
    if (job === undefined) return
    this.#working = job
    const worker = (this.#worker ??= this.#start())
    this.#watch = setTimeout(() => {
      this.#died(worker, new Error('the thread for large requests did not answer in time'))
      void worker.terminate()
    }, this.#options.limitMs ?? defaultLimitMs)
    job.lent = this.#memory.lend(job.bytes)
    const order: Order = { pieces: piecesOf(job), lent: job.lent }
    worker.postMessage(
      order,
      order.pieces.map(({ buffer }) => buffer),
    )
  }

  #start(): Worker {
    const { passFields, mostBytes, program = threadProgram } = this.#options
    const { heapMb = Math.max(leastHeapMb, (heapMbPerMb * mostBytes) / 2 ** 20) } = this.#options
    const worker = new Worker(program, {
      // Nothing that this process was started with is meant for it.
      execArgv: [],
      workerData: { passFields } satisfies ThreadOptions,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    })
    worker.on('message', (reply: Reply) => this.#arrived(worker, reply))
    const died = (error: unknown) => this.#died(worker, error instanceof Error ? error : new Error(String(error)))
    worker.on('error', died)
    worker.on('messageerror', died)
    worker.on('exit', () => died(new Error('the thread for large requests has ended')))
    return worker
  }

  #arrived(worker: Worker, reply: Reply): void {
    if (worker !== this.#worker) return
    const job = this.#over()
    if (job !== undefined) this.#answer(job, reply)
    this.#next()
  }

  #answer({ lent, isLeft, resolve, reject }: Job, reply: Reply): void {
    const giveBack = (): void => {
      if (lent !== null) this.#memory.giveBack(lent)
    }
    const text = reply.kind === 'done' ? reply.result.text : null
    if (reply.kind === 'done' && text === null && lent !== null && !isLeft)
      return resolve(new LargeChat(reply.result, lent, new Lending(giveBack)))
    giveBack()
    if (reply.kind === 'refused') reject(new GatewayError(reply.code, reply.details))
    else if (text !== null) resolve(new LargeChat(reply.result, text))
  }

  /** It takes the one it worked on along; the next one gets a new thread. */
  #died(worker: Worker, error: Error): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    this.#options.onFault(error)
    const ofMemory = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
    this.#over()?.reject(
      ofMemory
        ? new GatewayError('payload_too_large', { message: tooComplex, cause: error })
        : new GatewayError('internal_error', { cause: error }),
    )
    this.#next()
  }

  #over(): Job | undefined {
    clearTimeout(this.#watch)
    const job = this.#working
    this.#working = undefined
    return job
  }
}

const tooComplex = {
  en: 'The request body takes too much memory to be read. Send fewer or simpler values.',
  zh: '请求内容解析所需内存过大,请减少或简化其中的值。',
}

// In the checkout this file and the thread's are TypeScript, in the published package both are JavaScript.
const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
const threadProgram = new URL(`./thread${extension}`, import.meta.url)

/** The chunks in memory of their own, which goes over as it is; crumbs are put together, because each piece has its price. */
function piecesOf({ chunks, bytes }: Job): Uint8Array<ArrayBuffer>[] {
  if (chunks.length * crumbBytes <= bytes) return chunks.map((chunk) => (ownsMemory(chunk) ? chunk : new Uint8Array(chunk)))
  const whole = new Uint8Array(bytes)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return [whole]
}

const crumbBytes = 4 * 1024

function ownsMemory(chunk: Buffer): chunk is Buffer<ArrayBuffer> {
  return chunk.buffer instanceof ArrayBuffer && chunk.buffer.byteLength === chunk.byteLength
}
