/** One long read, then the end of the thread. */
import { parentPort, workerData } from 'node:worker_threads'
import { turnsIn } from '../turns.ts'
import { backUp } from './backup.ts'
import { defaultBusyTimeoutMs, openForReading } from './connection.ts'
import { readingFrom } from './dialect.ts'
import type { Task, TaskReply } from './reader.ts'
import { verifyFile } from './verify-file.ts'

if (parentPort === null) throw new Error('this file is started by the reader, as a thread')

parentPort.postMessage(await answer(workerData as Task))

async function answer(task: Task): Promise<TaskReply> {
  try {
    return { kind: 'done', value: await perform(task) }
  } catch (error) {
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error) }
  }
}

function perform(task: Task) {
  switch (task.kind) {
    case 'verify':
      return verifyFile(task.file)
    case 'backup':
      return backUp(task.file, task.to)
    case 'turns':
      return turnsIn(readingFrom(openForReading(task.file, defaultBusyTimeoutMs)), task.query)
  }
}
