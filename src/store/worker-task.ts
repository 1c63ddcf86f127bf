/**
 * Runs a long read of the whole database in a thread of its own, so that neither the event loop nor the writer waits for it.
 */
import { parentPort, Worker, workerData } from 'node:worker_threads'

type Reply =
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly message: string; readonly code: string | undefined }

interface WorkerTaskData<Task> {
  readonly task: Task
  /** Its only element becomes 1 when the caller no longer waits. */
  readonly cancelled: Int32Array
}

/** Call it repeatedly during a long read. @throws if the caller no longer waits */
export type ThrowIfCancelled = () => void

/** The requests and responses of a thread program's tasks, by kind. */
type TaskTypes<Types> = { readonly [Kind in keyof Types]: { readonly request: object; readonly response: unknown } }

export type TaskOf<Types extends TaskTypes<Types>> = {
  [Kind in keyof Types]: { readonly kind: Kind } & Types[Kind]['request']
}[keyof Types]

type TaskRunner<Types extends TaskTypes<Types>> = <Kind extends keyof Types & string>(
  kind: Kind,
  request: Types[Kind]['request'],
  signal?: AbortSignal,
) => Promise<Types[Kind]['response']>

/** Returns a function that runs each task in a new thread of this program. @see runInWorker */
export function createTaskRunner<Types extends TaskTypes<Types>>(program: URL): TaskRunner<Types> {
  return (kind, request, signal) => runInWorker(program, { kind, ...request }, signal)
}

/**
 * Runs a task in a new thread that executes `program`, and returns its result. A cancelled thread ends itself soon: terminating
 * a thread while it loads a native library can crash the process.
 * @throws the task's error, or the signal's reason if it was cancelled
 */
export function runInWorker<Answer>(program: URL, task: { readonly kind: string }, signal?: AbortSignal): Promise<Answer> {
  const cancelFlag = new Int32Array(new SharedArrayBuffer(4))
  const cancel = (): void => void Atomics.store(cancelFlag, 0, 1)
  const worker = new Worker(program, { workerData: { task, cancelled: cancelFlag } satisfies WorkerTaskData<unknown> })
  if (signal?.aborted === true) cancel()
  signal?.addEventListener('abort', cancel)
  return new Promise<Answer>((resolve, reject) => {
    worker.once('message', (reply: Reply) => {
      if (signal?.aborted === true) reject(signal.reason)
      else if (reply.kind === 'done') resolve(reply.value as Answer)
      else reject(Object.assign(new Error(reply.message), { code: reply.code }))
    })
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error(`the thread for "${task.kind}" ended without a result`)))
  }).finally(() => signal?.removeEventListener('abort', cancel))
}

/** Runs the task that this thread was started for; the thread then ends. */
export async function serveTask<Task>(
  perform: (task: Task, throwIfCancelled: ThrowIfCancelled) => Promise<unknown>,
): Promise<void> {
  if (parentPort === null) throw new Error('this file is started as a thread')
  const { task, cancelled } = workerData as WorkerTaskData<Task>
  const throwIfCancelled = (): void => {
    if (Atomics.load(cancelled, 0) === 1) throw new Error('the task was cancelled')
  }
  parentPort.postMessage(await toReply(() => perform(task, throwIfCancelled)))
}

/** Yields the rows until the task is cancelled. */
export function* cancellable<Row>(rows: Iterable<Row>, throwIfCancelled: ThrowIfCancelled): Iterable<Row> {
  for (const row of rows) {
    throwIfCancelled()
    yield row
  }
}

async function toReply(perform: () => Promise<unknown>): Promise<Reply> {
  try {
    return { kind: 'done', value: await perform() }
  } catch (error) {
    const { code } = error as { code?: string }
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error), code }
  }
}
