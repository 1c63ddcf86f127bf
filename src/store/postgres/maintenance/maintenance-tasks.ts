/** Long reads of the whole ledger, each in a worker thread of its own. */
import type { Verification } from '../../../domain/billing/ledger.ts'
import type { PruningStep } from '../../ledger/pruning.ts'
import type { SnapshotSource } from './snapshot.ts'
import type { TaskOf } from '../../worker-task.ts'
import { createTaskRunner } from '../../worker-task.ts'

export interface MaintenanceTasks {
  readonly verify: { readonly request: SnapshotSource; readonly response: Verification }
  /** Plans the pruning of records older than `before`, examining at most `limit` turns. */
  readonly planPruning: {
    readonly request: SnapshotSource & { readonly before: number; readonly limit: number }
    readonly response: readonly PruningStep[]
  }
}

export type MaintenanceTask = TaskOf<MaintenanceTasks>

const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))

/** @throws if the task failed */
export const runMaintenanceTask = createTaskRunner<MaintenanceTasks>(new URL(`./task-thread${extension}`, import.meta.url))
