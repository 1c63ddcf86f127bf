/** One long look at the whole ledger, then the end of the thread. */
import { answer } from '../task.ts'
import type { Task, Tasks } from './tasks.ts'
import { cutsIn, verifyIn } from './ledger-snapshot.ts'
import { withSnapshot } from './snapshot.ts'

await answer((task: Task, goOn) =>
  withSnapshot<Tasks[keyof Tasks]['gives']>(
    task.url,
    (ask) => (task.kind === 'verify' ? verifyIn(ask) : cutsIn(ask, task.before, task.limit)),
    goOn,
  ),
)
