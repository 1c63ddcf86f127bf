/** A thread that runs one program after the other, each as if the thread had been started for it. */
import { syncBuiltinESMExports } from 'node:module'
import threads from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'

export interface ToThread {
  readonly program: string
  readonly data: unknown
  readonly port: MessagePort
}

let count = 0

const { parentPort } = threads
parentPort?.on('message', async ({ program, data, port }: ToThread) => {
  port.on('close', () => parentPort.postMessage('done'))
  Object.assign(threads, { workerData: data, parentPort: port })
  syncBuiltinESMExports()
  // Another address each time, for a module is evaluated once.
  count += 1
  await import(`${program}?${count}`)
  // Where it listens for nothing, it is done, as its thread would be.
  if (port.listenerCount('message') === 0) port.close()
})
