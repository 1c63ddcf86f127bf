/** One long look at the whole ledger, then the end of the thread. */
import { parentPort, workerData } from 'node:worker_threads'
import type { Task, TaskReply, Tasks } from './tasks.ts'
import { cutsIn, verifyIn } from './ledger-snapshot.ts'
import { withSnapshot } from './snapshot.ts'

if (parentPort === null) throw new Error('this file is started as a thread')

parentPort.postMessage(await answer(workerData as Task))

async function answer(task: Task): Promise<TaskReply> {
  try {
    return { kind: 'done', value: await withSnapshot<Tasks[keyof Tasks]['gives']>(task.url, (ask) => perform(task, ask)) }
  } catch (error) {
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error) }
  }
}

function perform(task: Task, ask: Parameters<typeof verifyIn>[0]): Tasks[keyof Tasks]['gives'] {
  return task.kind === 'verify' ? verifyIn(ask) : cutsIn(ask, task.before, task.limit)
}
