/**
 * An upstream whose streams never end: an event at once, then one every few seconds while the client is connected. A prompt that contains
 * "short" ends at once. Prints its address, and at the end of its standard input the number of its streams.
 *
 *   node bench/support/idle-upstream.ts EVERY_MS
 */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

const [everyMs = '5000'] = process.argv.slice(2)
const streams = new Set<ServerResponse>()

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request)
  response.on('error', () => undefined)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(chunk({ role: 'assistant', content: 'Hello' }))
  if (body.includes('short')) {
    response.end(`${chunk({}, 'stop')}data: [DONE]\n\n`)
    return
  }
  streams.add(response)
  response.on('close', () => streams.delete(response))
}

// Spread over the interval, like the events of unrelated clients.
const slices = 100
let slice = 0
setInterval(
  () => {
    let index = 0
    for (const stream of streams) if (index++ % slices === slice) stream.write(chunk({ content: ' and on' }))
    slice = (slice + 1) % slices
  },
  Number(everyMs) / slices,
)

const server = createServer((request, response) => void answer(request, response))
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`http://127.0.0.1:${port}\n`)
})
process.on('SIGTERM', () => process.exit(0))
