/** Long looks at the whole ledger, each in a thread of its own. */
import { Worker } from 'node:worker_threads'
import type { Verification } from '../../membership/ledger.ts'
import type { Cut } from '../cuts.ts'

export interface Tasks {
  readonly verify: { readonly asks: { readonly url: string }; readonly gives: Verification }
  /** Gives what is to be forgotten of what is older than `before`, looking at so many turns at most. */
  readonly cuts: {
    readonly asks: { readonly url: string; readonly before: number; readonly limit: number }
    readonly gives: readonly Cut[]
  }
}

export type Task = { [Kind in keyof Tasks]: { readonly kind: Kind } & Tasks[Kind]['asks'] }[keyof Tasks]

export type TaskReply =
  | { readonly kind: 'done'; readonly value: Tasks[keyof Tasks]['gives'] }
  | { readonly kind: 'failed'; readonly message: string }

/** @throws where the task could not be done */
export function runTask<Kind extends keyof Tasks>(kind: Kind, asks: Tasks[Kind]['asks']): Promise<Tasks[Kind]['gives']> {
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
  const worker = new Worker(new URL(`./task-thread${extension}`, import.meta.url), { workerData: { kind, ...asks } })
  return new Promise((resolve, reject) => {
    worker.once('message', (reply: TaskReply) => {
      if (reply.kind === 'done') resolve(reply.value)
      else reject(new Error(reply.message))
    })
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error(`the thread for "${kind}" ended without an answer`)))
  })
}
