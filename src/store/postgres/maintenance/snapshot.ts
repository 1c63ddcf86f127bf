/**
 * One snapshot of the database with synchronous queries: the code that walks chains of rows is shared by both stores and is
 * synchronous. Blocks its thread, so only for worker threads.
 */
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import type { SnapshotQuery } from '../../ledger/snapshot-reads.ts'
import { createPoolerTimeoutError } from '../connection/errors.ts'
import type { ThrowIfCancelled } from '../../worker-task.ts'

export type SnapshotReply = { readonly rows: readonly unknown[] } | { readonly failed: string; readonly code: string | undefined }

export interface SnapshotSource {
  readonly url: string
  /** Of a `SeenDatabase`. */
  readonly seen?: SharedArrayBuffer | undefined
}

export interface SnapshotWorkerData extends SnapshotSource {
  readonly port: MessagePort
  /** Notified with each reply. */
  readonly replySignal: Int32Array
}

/** Limit for a single query. */
const statementTimeoutMs = 60_000
/** How often `throwIfCancelled` is called while waiting. */
const pollMs = 250

/** @throws the database's error, and what `throwIfCancelled` throws */
export async function withSnapshot<Result>(
  { url, seen }: SnapshotSource,
  work: (runQuery: SnapshotQuery) => Result,
  throwIfCancelled: ThrowIfCancelled = () => undefined,
): Promise<Result> {
  const { port1, port2 } = new MessageChannel()
  const replySignal = new Int32Array(new SharedArrayBuffer(4))
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
  const workerData: SnapshotWorkerData = { url, seen, port: port2, replySignal }
  const worker = new Worker(new URL(`./snapshot-thread${extension}`, import.meta.url), {
    workerData: workerData,
    transferList: [port2],
  })
  let isConnected = false
  const runQuery: SnapshotQuery = <Row>(text: string, values: readonly unknown[] = []) => {
    Atomics.store(replySignal, 0, 0)
    port1.postMessage([text, values])
    // The notification of the previous reply may also end the wait, if that reply was found without waiting.
    for (let leftMs = statementTimeoutMs; Atomics.load(replySignal, 0) === 0;) {
      throwIfCancelled()
      if (leftMs <= 0) throw isConnected ? new Error('the database did not respond') : createPoolerTimeoutError()
      if (Atomics.wait(replySignal, 0, 0, pollMs) === 'timed-out') leftMs -= pollMs
    }
    const reply = receiveMessageOnPort(port1)?.message as SnapshotReply
    if ('failed' in reply) throw Object.assign(new Error(reply.failed), { code: reply.code })
    isConnected = true
    return reply.rows as readonly Row[]
  }
  try {
    return work(runQuery)
  } finally {
    port1.close()
    await worker.terminate()
  }
}

/**
 * Reads a table in pages, for tables larger than memory. The key columns order the rows; `after` is the condition for the next
 * page.
 */
export function* readPages<Row extends object>(
  runQuery: SnapshotQuery,
  statement: (after: string) => string,
  key: readonly (keyof Row & string)[],
  start: readonly (string | number)[],
): Iterable<Row> {
  const pageSize = 5_000
  const after = `(${key.join(', ')}) > (${key.map((_, index) => `$${index + 1}`).join(', ')})`
  for (let from: readonly unknown[] = start; ;) {
    const rows = runQuery<Row>(`${statement(after)} order by ${key.join(', ')} limit ${pageSize}`, from)
    yield* rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < pageSize) return
    from = key.map((name) => last[name])
  }
}
