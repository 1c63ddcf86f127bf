/** Thread of the upstream that attackers and other members call. What it answers is named in the prompt: `answer-KIND`. Posts its address. */
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parentPort } from 'node:worker_threads'
import { reportCpuTime } from './cpu-time.ts'

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)

function toEvents(deltas: readonly object[], finish = 'stop'): string {
  const chunk = (delta: object, reason: string | null): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`
  return `${deltas.map((delta) => chunk(delta, null)).join('')}${chunk({}, finish)}data: [DONE]\n\n`
}

const toCall = (index: number) => ({ index, id: `c${index}`, type: 'function', function: { name: 'f', arguments: '{}' } })
const streams: Readonly<Record<string, string>> = {
  text: toEvents(range(30).map((index) => ({ content: `word ${index} ` }))),
  call: toEvents([{ tool_calls: [toCall(0)] }], 'tool_calls'),
  calls: toEvents([{ tool_calls: range(20_000).map(toCall) }], 'tool_calls'),
  nesting: `data: ${'['.repeat(20 * 2 ** 20)}\n\n`,
}
const longText = toEvents(range(200).map(() => ({ content: 'a long answer '.repeat(100) })))
const createVectors = (count: number): string =>
  JSON.stringify({
    data: range(count).map((index) => ({ index, embedding: range(1_536).map((at) => Math.sin(index * at)) })),
    usage: { prompt_tokens: count },
  })
const [fewVectors, manyVectors] = [createVectors(2), createVectors(1_000)]

function answer(path: string, head: string, bytes: number, response: ServerResponse): void {
  if (path.endsWith('/embeddings')) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(bytes > 2_000 ? manyVectors : fewVectors)
    return
  }
  const kind = /answer-(\w+)/.exec(head)?.[1] ?? 'text'
  if (kind === 'error') response.writeHead(500, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}')
  else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(kind === 'long' ? longText : streams[kind])
}

const server = createServer((request, response) => {
  let head = ''
  let bytes = 0
  response.on('error', () => undefined)
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (head.length < 4_096) head += chunk.toString('latin1', 0, 4_096)
  })
  request.on('end', () => answer(request.url ?? '', head, bytes, response))
})
server.listen(0, '127.0.0.1', () => parentPort?.postMessage(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
reportCpuTime()
