/** A long look at the whole ledger, in a thread of its own: neither the event loop nor whoever writes waits for it. */
import { parentPort, Worker, workerData } from 'node:worker_threads'

type Reply =
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly message: string; readonly code: string | undefined }

interface Given<Task> {
  readonly task: Task
  /** Its only number is 1 once nobody waits for the answer any more. */
  readonly givenUp: Int32Array
}

/** To be asked again and again while a look takes its time. @throws where nobody waits for it any more */
export type GoOn = () => void

/**
 * What `program` answers to this task. A thread that is given up ends by itself, soon: one that is ended from outside while it loads a native
 * library can take the process with it.
 * @throws where it could not be done, and the signal's reason where it was given up
 */
export function doneBy<Answer>(program: URL, task: { readonly kind: string }, signal?: AbortSignal): Promise<Answer> {
  const givenUp = new Int32Array(new SharedArrayBuffer(4))
  const giveUp = (): void => void Atomics.store(givenUp, 0, 1)
  const worker = new Worker(program, { workerData: { task, givenUp } satisfies Given<unknown> })
  if (signal?.aborted === true) giveUp()
  signal?.addEventListener('abort', giveUp)
  return new Promise<Answer>((resolve, reject) => {
    worker.once('message', (reply: Reply) => {
      if (signal?.aborted === true) reject(signal.reason)
      else if (reply.kind === 'done') resolve(reply.value as Answer)
      else reject(Object.assign(new Error(reply.message), { code: reply.code }))
    })
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error(`the thread for "${task.kind}" ended without an answer`)))
  }).finally(() => signal?.removeEventListener('abort', giveUp))
}

/** Does the task that this thread was started for, and ends it. */
export async function answer<Task>(perform: (task: Task, goOn: GoOn) => Promise<unknown>): Promise<void> {
  if (parentPort === null) throw new Error('this file is started as a thread')
  const { task, givenUp } = workerData as Given<Task>
  const goOn = (): void => {
    if (Atomics.load(givenUp, 0) === 1) throw new Error('nobody waits for the answer any more')
  }
  parentPort.postMessage(await replyOf(() => perform(task, goOn)))
}

/** The same rows, for as long as somebody waits for what comes of them. */
export function* whileWanted<Row>(rows: Iterable<Row>, goOn: GoOn): Iterable<Row> {
  for (const row of rows) {
    goOn()
    yield row
  }
}

async function replyOf(perform: () => Promise<unknown>): Promise<Reply> {
  try {
    return { kind: 'done', value: await perform() }
  } catch (error) {
    const { code } = error as { code?: string }
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error), code }
  }
}
