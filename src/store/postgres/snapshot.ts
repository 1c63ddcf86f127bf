/**
 * One moment of the whole database, read synchronously: what walks along chains of rows is written once for every store, and waits for each
 * answer where it stands. For a thread that nobody else needs.
 */
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import type { GoOn } from '../task.ts'

/** Rows of a statement. @throws what the database says */
export type Ask = <Row>(text: string, values?: readonly unknown[]) => readonly Row[]

export type SnapshotAnswer = { readonly rows: readonly unknown[] } | { readonly failed: string }

export interface SnapshotParts {
  readonly url: string
  readonly port: MessagePort
  /** Woken with each answer. */
  readonly answered: Int32Array
}

/** Longer than that nobody waits for a single answer. */
const statementMs = 60_000
/** So often whoever waits is asked whether to. */
const sliceMs = 250

/** @throws what the database says, and what `goOn` throws */
export async function withSnapshot<Result>(
  url: string,
  work: (ask: Ask) => Result,
  goOn: GoOn = () => undefined,
): Promise<Result> {
  const { port1, port2 } = new MessageChannel()
  const answered = new Int32Array(new SharedArrayBuffer(4))
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
  const parts: SnapshotParts = { url, port: port2, answered }
  const worker = new Worker(new URL(`./snapshot-thread${extension}`, import.meta.url), {
    workerData: parts,
    transferList: [port2],
  })
  const ask: Ask = <Row>(text: string, values: readonly unknown[] = []) => {
    Atomics.store(answered, 0, 0)
    port1.postMessage([text, values])
    // Also the call for the answer before may wake it, where that answer was found there without waiting for its call.
    for (let leftMs = statementMs; Atomics.load(answered, 0) === 0;) {
      goOn()
      if (leftMs <= 0) throw new Error('the database gave no answer')
      if (Atomics.wait(answered, 0, 0, sliceMs) === 'timed-out') leftMs -= sliceMs
    }
    const answer = receiveMessageOnPort(port1)?.message as SnapshotAnswer
    if ('failed' in answer) throw new Error(answer.failed)
    return answer.rows as readonly Row[]
  }
  try {
    return work(ask)
  } finally {
    port1.close()
    await worker.terminate()
  }
}

/** So many rows at a time of what may be more than memory holds. Columns of the same name must say where a row stands: `after` makes the condition. */
export function* paged<Row extends object>(
  ask: Ask,
  statement: (after: string) => string,
  key: readonly (keyof Row & string)[],
  start: readonly (string | number)[],
): Iterable<Row> {
  const most = 5_000
  const after = `(${key.join(', ')}) > (${key.map((_, index) => `$${index + 1}`).join(', ')})`
  for (let from: readonly unknown[] = start; ;) {
    const rows = ask<Row>(`${statement(after)} order by ${key.join(', ')} limit ${most}`, from)
    yield* rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < most) return
    from = key.map((name) => last[name])
  }
}
