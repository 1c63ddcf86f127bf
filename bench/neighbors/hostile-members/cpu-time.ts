/** CPU time of a thread of the benchmark: what it takes from the two cores that it shares with the measured program. */
import { once } from 'node:events'
import { parentPort } from 'node:worker_threads'
import type { Worker } from 'node:worker_threads'

/** Answers each message 'cpu' of the main thread. */
export function reportCpuTime(): void {
  parentPort?.on('message', (message: unknown) => {
    if (message !== 'cpu') return
    const { user, system } = process.threadCpuUsage()
    parentPort?.postMessage((user + system) / 1e6)
  })
}

/** Seconds since the thread began, of a thread that calls `reportCpuTime` and posts nothing else meanwhile. */
export async function readThreadCpuSeconds(thread: Worker): Promise<number> {
  const answer = once(thread, 'message')
  thread.postMessage('cpu')
  return Number((await answer)[0])
}
