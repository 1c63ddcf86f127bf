/** A model server in a thread of its own, which goes on while the test's thread is paused: two words with `pauseMs` between them. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

const { pauseMs } = workerData as { readonly pauseMs: number }

const toEvent = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'a', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`

const server = createServer(async (_, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(toEvent({ role: 'assistant', content: 'one' }))
  await pause(pauseMs)
  response.write(toEvent({ content: 'two' }))
  response.end(`${toEvent({}, 'stop')}data: [DONE]\n\n`)
})
server.listen(0, '127.0.0.1', () => parentPort?.postMessage((server.address() as AddressInfo).port))
