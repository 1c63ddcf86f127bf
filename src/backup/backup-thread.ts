/** Worker thread that writes one backup and ends: copying, hashing and encrypting would delay the turns of a serving thread. */
import { systemClock } from '../system/clock.ts'
import { serveTask } from '../store/worker-task.ts'
import { writeBackup } from './write-backup.ts'
import type { BackupTask } from './run-backup.ts'

const cancelPollMs = 200

await serveTask<BackupTask>(async (task, throwIfCancelled) => {
  const cancellation = new AbortController()
  const timer = systemClock.every(cancelPollMs, () => {
    try {
      throwIfCancelled()
    } catch (error) {
      cancellation.abort(error)
    }
  })
  try {
    return await writeBackup(task, cancellation.signal)
  } finally {
    timer.cancel()
  }
})
