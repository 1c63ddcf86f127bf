/**
 * Connects a writer to its thread. The process's first writer spawns the thread, and a new one if it dies; a writer in another
 * worker thread gets a port to it.
 */
import { Worker } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import type { FlushedMessage, WriterReply, WriterRequest, WriterOptions } from '../connection/writer-protocol.ts'

export interface WriterConnection {
  post(request: WriterRequest, transfer?: readonly MessagePort[]): void
  /** Resolves when the writer no longer works for this connection. */
  close(): Promise<void>
  /** Drops the connection without waiting for its requests. */
  terminate(): Promise<void>
}

/** Events of a connection. */
interface ConnectionEvents {
  onMessage(message: WriterReply | FlushedMessage): void
  /** The connection has ended; no more messages follow. */
  onEnd(error: Error): void
}

export type ConnectWriter = (events: ConnectionEvents) => WriterConnection | Promise<WriterConnection>

/** Bounds the memory of a single excessive statement: only the writer thread dies, and the service starts a new one. */
const maxHeapMb = 512

/** Connects by starting a writer thread. */
export function spawnWriter(options: WriterOptions): ConnectWriter {
  return ({ onMessage, onEnd }) => {
    // From source both files are TypeScript, in the published package JavaScript.
    const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
    const worker = new Worker(new URL(`./writer-thread${extension}`, import.meta.url), {
      workerData: options,
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    })
    worker.on('message', onMessage)
    worker.on('error', (error: unknown) => onEnd(error instanceof Error ? error : new Error(String(error))))
    worker.on('exit', () => onEnd(new Error('the writer has ended')))
    return {
      post: (request, transfer) => worker.postMessage(request, transfer),
      close: () =>
        new Promise((resolve) => {
          worker.once('exit', () => resolve())
          worker.postMessage(['close'] satisfies WriterRequest)
        }),
      terminate: async () => void (await worker.terminate()),
    }
  }
}

/** Connects by a port to the thread that another writer of this process has started. */
export function connectPort(openPort: () => Promise<MessagePort>): ConnectWriter {
  return async ({ onMessage, onEnd }) => {
    const port = await openPort()
    port.on('message', onMessage)
    port.on('close', () => onEnd(new Error('the writer has ended')))
    const close = async (): Promise<void> => port.close()
    return { post: (request) => port.postMessage(request), close, terminate: close }
  }
}
