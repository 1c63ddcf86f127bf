/** Runs a backup in a thread of its own. */
import { createTaskRunner } from '../store/worker-task.ts'
import type { TaskOf } from '../store/worker-task.ts'
import { OperatorError } from '../system/operator-error.ts'
import type { WriteBackupOptions, WrittenBackup } from './write-backup.ts'

interface BackupTasks {
  readonly write: { readonly request: WriteBackupOptions; readonly response: WrittenBackup }
}

export type BackupTask = TaskOf<BackupTasks>

const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
const runTask = createTaskRunner<BackupTasks>(new URL(`./backup-thread${extension}`, import.meta.url))

/** @throws OperatorError with a sentence for the operator, or the signal's reason */
export async function runBackup(options: WriteBackupOptions, signal?: AbortSignal): Promise<WrittenBackup> {
  try {
    return await runTask('write', options, signal)
  } catch (error) {
    if (signal?.aborted === true) throw error
    // A thread passes on only the message of an error.
    throw new OperatorError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}
