/** A long look at the whole ledger, in a thread of its own: neither the event loop nor whoever writes waits for it. */
import { parentPort, Worker } from 'node:worker_threads'

type Reply =
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly message: string; readonly code: string | undefined }

/** What `program` answers to this task. @throws where it could not be done, and the signal's reason where it was given up */
export function doneBy<Given>(program: URL, task: { readonly kind: string }, signal?: AbortSignal): Promise<Given> {
  const worker = new Worker(program, { workerData: task })
  const giveUp = (): void => void worker.terminate()
  signal?.addEventListener('abort', giveUp)
  return new Promise<Given>((resolve, reject) => {
    worker.once('message', (reply: Reply) => {
      if (reply.kind === 'done') resolve(reply.value as Given)
      else reject(Object.assign(new Error(reply.message), { code: reply.code }))
    })
    worker.once('error', reject)
    worker.once('exit', () =>
      reject(signal?.aborted === true ? signal.reason : new Error(`the thread for "${task.kind}" ended without an answer`)),
    )
  }).finally(() => signal?.removeEventListener('abort', giveUp))
}

/** Does the task that this thread was started for, and ends it. */
export async function answer(perform: () => Promise<unknown>): Promise<void> {
  if (parentPort === null) throw new Error('this file is started as a thread')
  parentPort.postMessage(await replyOf(perform))
}

async function replyOf(perform: () => Promise<unknown>): Promise<Reply> {
  try {
    return { kind: 'done', value: await perform() }
  } catch (error) {
    const { code } = error as { code?: string }
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error), code }
  }
}
