/** Long reads, each in a worker thread of its own, so that neither the event loop nor the writer waits for them. */
import type { Turn, TurnQuery, Verification } from '../../../domain/billing/ledger.ts'
import type { PruningStep } from '../../ledger/pruning.ts'
import type { TaskOf } from '../../worker-task.ts'
import { createTaskRunner } from '../../worker-task.ts'

export interface ReadTasks {
  readonly verify: { readonly request: { readonly file: string }; readonly response: Verification }
  /** Returns the verification of the copy. */
  readonly backup: { readonly request: { readonly file: string; readonly to: string }; readonly response: Verification }
  /** Plans the pruning of records older than `before`, examining at most `limit` turns. */
  readonly planPruning: {
    readonly request: { readonly file: string; readonly before: number; readonly limit: number }
    readonly response: readonly PruningStep[]
  }
  /** Returns whether every page of the file is readable and consistent. */
  readonly check: { readonly request: { readonly file: string }; readonly response: boolean }
  readonly turns: { readonly request: { readonly file: string; readonly query: TurnQuery }; readonly response: readonly Turn[] }
}

export type ReadTask = TaskOf<ReadTasks>

const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))

/** @throws if the task failed */
export const runReadTask = createTaskRunner<ReadTasks>(new URL(`./read-task-thread${extension}`, import.meta.url))
