/** One long read, then the end of the thread. */
import { parentPort, workerData } from 'node:worker_threads'
import { backUp } from './backup.ts'
import type { Task, TaskReply } from './reader.ts'
import { verifyFile } from './verify-file.ts'

if (parentPort === null) throw new Error('this file is started by the reader, as a thread')

parentPort.postMessage(perform(workerData as Task))

function perform(task: Task): TaskReply {
  try {
    return { kind: 'done', verification: task.kind === 'verify' ? verifyFile(task.file) : backUp(task.file, task.to) }
  } catch (error) {
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error) }
  }
}
