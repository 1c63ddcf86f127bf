/**
 * How a writer reaches its thread. The process's first writer starts it, and starts another where it has died; a writer in another of the
 * process's threads is handed a line to it.
 */
import { Worker } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import type { Flushed, Reply, Request, WriterOptions } from './protocol.ts'

export interface Link {
  post(request: Request, transfer?: readonly MessagePort[]): void
  /** Resolves when nothing more will be done for it. */
  close(): Promise<void>
  /** It is of no use: whatever is at its other end is let go of. */
  abandon(): Promise<void>
}

/** What a link tells whoever made it. */
export interface Heard {
  said(message: Reply | Flushed): void
  /** It is over, and nothing more will be heard. */
  ended(error: Error): void
}

export type Connect = (heard: Heard) => Link | Promise<Link>

/** Bounds what one absurd statement can take; it then dies alone, and the service goes on with a new thread. */
const heapLimitMb = 512

/** A thread of the writer's own. */
export function threadOf(options: WriterOptions): Connect {
  return ({ said, ended }) => {
    // In the checkout this file and the thread's are TypeScript, in the published package both are JavaScript.
    const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
    const worker = new Worker(new URL(`./writer-thread${extension}`, import.meta.url), {
      workerData: options,
      resourceLimits: { maxOldGenerationSizeMb: heapLimitMb },
    })
    worker.on('message', said)
    worker.on('error', (error: unknown) => ended(error instanceof Error ? error : new Error(String(error))))
    worker.on('exit', () => ended(new Error('the writer has ended')))
    return {
      post: (request, transfer) => worker.postMessage(request, transfer),
      close: () =>
        new Promise((resolve) => {
          worker.once('exit', () => resolve())
          worker.postMessage(['close'] satisfies Request)
        }),
      abandon: async () => void (await worker.terminate()),
    }
  }
}

/** A line to the thread that another writer of this process has started. */
export function lineOf(line: () => Promise<MessagePort>): Connect {
  return async ({ said, ended }) => {
    const port = await line()
    port.on('message', said)
    port.on('close', () => ended(new Error('the writer has ended')))
    const close = async (): Promise<void> => port.close()
    return { post: (request) => port.postMessage(request), close, abandon: close }
  }
}
