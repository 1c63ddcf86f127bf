/** Worker thread that runs one long read of the ledger and ends. */
import { serveTask } from '../../worker-task.ts'
import type { MaintenanceTask, MaintenanceTasks } from './maintenance-tasks.ts'
import { planSnapshotPruning, verifySnapshot } from './ledger-snapshot.ts'
import { withSnapshot } from './snapshot.ts'

await serveTask((task: MaintenanceTask, throwIfCancelled) =>
  withSnapshot<MaintenanceTasks[keyof MaintenanceTasks]['response']>(
    task,
    (runQuery) => (task.kind === 'verify' ? verifySnapshot(runQuery) : planSnapshotPruning(runQuery, task.before, task.limit)),
    throwIfCancelled,
  ),
)
