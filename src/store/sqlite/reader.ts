/** Long reads of the whole database, each in a thread of its own: neither the event loop nor the writer waits for them. */
import { Worker } from 'node:worker_threads'
import type { Verification } from '../../membership/ledger.ts'

export type Task =
  | { readonly kind: 'verify'; readonly file: string }
  | { readonly kind: 'backup'; readonly file: string; readonly to: string }

export type TaskReply =
  | { readonly kind: 'done'; readonly verification: Verification }
  | { readonly kind: 'failed'; readonly message: string }

/** For `backup`, the verification is the copy's. Throws when the task could not be done. */
export function runTask(task: Task): Promise<Verification> {
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
  const worker = new Worker(new URL(`./reader-thread${extension}`, import.meta.url), { workerData: task })
  return new Promise((resolve, reject) => {
    worker.once('message', (reply: TaskReply) => {
      if (reply.kind === 'done') resolve(reply.verification)
      else reject(new Error(reply.message))
    })
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error(`the thread for "${task.kind}" ended without an answer`)))
  })
}
