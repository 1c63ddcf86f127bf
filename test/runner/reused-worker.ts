/** A thread that runs one program after the other, each as if the thread had been started for it. */
import { syncBuiltinESMExports } from 'node:module'
import threads from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'

export interface RunProgramMessage {
  readonly program: string
  readonly data: unknown
  readonly port: MessagePort
}

let runCount = 0

const { parentPort } = threads
parentPort?.on('message', async ({ program, data, port }: RunProgramMessage) => {
  port.on('close', () => parentPort.postMessage('done'))
  Object.assign(threads, { workerData: data, parentPort: port })
  syncBuiltinESMExports()
  // A different URL each time, because a module is evaluated once per URL.
  runCount += 1
  await import(`${program}?${runCount}`)
  // A program that listens for nothing is done, as its own thread would be.
  if (port.listenerCount('message') === 0) port.close()
})
