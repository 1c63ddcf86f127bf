/**
 * Runs reads for operators in one thread, which starts at the first and ends when it had nothing to do for a minute: to start a thread takes
 * longer than most of these reads, and on the event loop some would delay turns.
 */
import { Worker } from 'node:worker_threads'
import type { Timer } from '../../../system/clock.ts'
import { systemClock } from '../../../system/clock.ts'
import type { HistoryAnswer, HistoryQuery } from '../../turn-history/queries/history-query.ts'

/** `end` is the last message. */
export type HistoryRequest = { readonly id: number; readonly query: HistoryQuery } | 'end'
export type HistoryReply =
  | { readonly id: number; readonly answer: HistoryAnswer }
  | { readonly id: number; readonly failure: { readonly message: string; readonly code: string | undefined } }

interface Waiting {
  readonly resolve: (answer: HistoryAnswer) => void
  readonly reject: (error: unknown) => void
}

const idleMs = 60_000
const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
const program = new URL(`./history-reader-thread${extension}`, import.meta.url)

export class HistoryReader {
  readonly #file: string
  #thread: ReaderThread | undefined
  /** Threads that were told to end, too. */
  readonly #running = new Set<ReaderThread>()
  #idleTimer: Timer | undefined
  #isClosed = false

  constructor(file: string) {
    this.#file = file
  }

  /** @throws the database's error, or one if the store was closed */
  async run(query: HistoryQuery): Promise<HistoryAnswer> {
    if (this.#isClosed) throw new Error('the store is closed')
    this.#idleTimer?.cancel()
    const thread = (this.#thread ??= this.#start())
    try {
      return await thread.run(query)
    } finally {
      if (thread === this.#thread && thread.isIdle) this.#idleTimer = systemClock.after(idleMs, () => this.#end(thread)).unref()
    }
  }

  /** Waits until no thread has the file open. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#idleTimer?.cancel()
    if (this.#thread !== undefined) this.#end(this.#thread)
    await Promise.all([...this.#running].map(({ ended }) => ended))
  }

  #start(): ReaderThread {
    const thread = new ReaderThread(this.#file)
    this.#running.add(thread)
    void thread.ended.then(() => {
      this.#running.delete(thread)
      if (this.#thread === thread) this.#thread = undefined
    })
    return thread
  }

  #end(thread: ReaderThread): void {
    if (this.#thread === thread) this.#thread = undefined
    thread.end()
  }
}

class ReaderThread {
  readonly ended: Promise<void>
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0

  constructor(file: string) {
    this.#worker = new Worker(program, { workerData: file })
    this.#worker.unref()
    this.#worker.on('message', (reply: HistoryReply) => {
      const pendingRequest = this.#waiting.get(reply.id)
      this.#waiting.delete(reply.id)
      if ('answer' in reply) pendingRequest?.resolve(reply.answer)
      else pendingRequest?.reject(Object.assign(new Error(reply.failure.message), { code: reply.failure.code }))
    })
    this.ended = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.#rejectAll(new Error('the thread that reads for operators has ended'))
        resolve()
      })
    })
    this.#worker.once('error', (error) => this.#rejectAll(error))
  }

  get isIdle(): boolean {
    return this.#waiting.size === 0
  }

  run(query: HistoryQuery): Promise<HistoryAnswer> {
    const id = (this.#lastId += 1)
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      // A program that only waits for this answer must not end.
      this.#worker.ref()
      this.#worker.postMessage({ id, query } satisfies HistoryRequest)
    }).finally(() => {
      if (this.isIdle) this.#worker.unref()
    }) as Promise<HistoryAnswer>
  }

  /** After the answers that are due. */
  end(): void {
    // So that its end is awaited.
    this.#worker.ref()
    this.#worker.postMessage('end' satisfies HistoryRequest)
  }

  #rejectAll(error: unknown): void {
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}
