/** Worker thread that runs one long read and ends. */
import type { ThrowIfCancelled } from '../../worker-task.ts'
import { serveTask } from '../../worker-task.ts'
import { backUp } from './backup.ts'
import { defaultBusyTimeoutMs, openForReading } from '../connection/connection.ts'
import { listTurns } from '../../repositories/billing/turns.ts'
import { createReadOnlyKysely } from '../dialect.ts'
import type { ReadTask, ReadTasks } from './read-tasks.ts'
import { planFilePruning, verifyDatabaseFile } from './ledger-snapshot.ts'

await serveTask(perform)

async function perform(task: ReadTask, throwIfCancelled: ThrowIfCancelled): Promise<ReadTasks[keyof ReadTasks]['response']> {
  switch (task.kind) {
    case 'verify':
      return verifyDatabaseFile(task.file, throwIfCancelled)
    case 'backup':
      return backUp(task.file, task.to)
    case 'planPruning':
      return planFilePruning(task.file, task.before, task.limit, throwIfCancelled)
    case 'turns': {
      const db = openForReading(task.file, defaultBusyTimeoutMs)
      try {
        return await listTurns(createReadOnlyKysely(db), task.query)
      } finally {
        db.close()
      }
    }
    case 'check': {
      const db = openForReading(task.file, defaultBusyTimeoutMs)
      try {
        return db.pragma('integrity_check(1)', { simple: true }) === 'ok'
      } finally {
        db.close()
      }
    }
  }
}
