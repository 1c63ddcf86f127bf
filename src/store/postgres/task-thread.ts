/** One long look at the whole ledger, then the end of the thread. */
import { workerData } from 'node:worker_threads'
import { answer } from '../task.ts'
import type { Task, Tasks } from './tasks.ts'
import { cutsIn, verifyIn } from './ledger-snapshot.ts'
import { withSnapshot } from './snapshot.ts'
import type { Ask } from './snapshot.ts'

const task = workerData as Task
await answer(() => withSnapshot<Tasks[keyof Tasks]['gives']>(task.url, perform))

function perform(ask: Ask): Tasks[keyof Tasks]['gives'] {
  return task.kind === 'verify' ? verifyIn(ask) : cutsIn(ask, task.before, task.limit)
}
