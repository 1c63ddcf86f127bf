/** Worker thread that writes one backup and ends: copying, hashing and encrypting would delay the turns of a serving thread. */
import { serveTask } from '../store/worker-task.ts'
import { writeBackup } from './write-backup.ts'
import type { BackupTask } from './run-backup.ts'

const cancelPollMs = 200

await serveTask<BackupTask>(async (task, throwIfCancelled) => {
  const cancelling = new AbortController()
  const timer = setInterval(() => {
    try {
      throwIfCancelled()
    } catch (error) {
      cancelling.abort(error)
    }
  }, cancelPollMs)
  try {
    return await writeBackup(task, cancelling.signal)
  } finally {
    clearInterval(timer)
  }
})
