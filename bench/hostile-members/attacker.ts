/** Thread that sends requests made to stop the server, two of each kind at a time, until the process ends; and the upstream that they call. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { parentPort } from 'node:worker_threads'
import { Agent, request } from 'undici'

interface Target {
  readonly url: string
  readonly key: string
  /** Of another account, which announces long bodies and sends nothing of them. */
  readonly idleKey: string
}

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)
const answers: Readonly<Record<string, string>> = {
  calls: `data: ${JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: range(20_000).map((index) => ({ index, id: `c${index}`, function: { name: 'f', arguments: '{}' } })) } }] })}\n\n`,
  nesting: `data: ${'['.repeat(20 * 2 ** 20)}\n\n`,
  text: 'data: {"choices":[{"index":0,"delta":{"content":"Hello!"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
}
const vectors = JSON.stringify({
  data: range(1_000).map((index) => ({ index, embedding: range(1_536).map((at) => Math.sin(index * at)) })),
  usage: { prompt_tokens: 1_000 },
})

const upstream = createServer((req, res) => {
  let head = ''
  req.on('data', (chunk: Buffer) => (head = (head + chunk.toString('latin1')).slice(0, 4_096)))
  req.on('end', () => {
    if (req.url?.endsWith('/embeddings') === true) return res.writeHead(200, { 'content-type': 'application/json' }).end(vectors)
    const kind = /attack-(\w+)/.exec(head)?.[1] ?? 'text'
    return res.writeHead(200, { 'content-type': 'text/event-stream' }).end(answers[kind])
  })
})

const call = (index: number) => ({ type: 'function_call', call_id: `c${index}`, name: `f${index}`, arguments: '{}' })
const tool = (index: number) => ({ type: 'function', name: `f${index}`, parameters: {} })
const model = 'svc-2.1'
const chat = (text: string) => ({ model, stream: true, messages: [{ role: 'user', content: text }] })
const attacks: Readonly<Record<string, readonly [path: string, body: object]>> = {
  'tools and calls': ['responses', { model, input: range(30_000).map(call), tools: range(30_000).map(tool) }],
  'token counts': [
    'messages/count_tokens',
    { model, messages: range(60_000).map((index) => ({ role: 'user', content: `number ${index}` })) },
  ],
  metadata: ['responses', { model, input: 'x', stream: true, metadata: { a: 'x'.repeat(12e6) } }],
  fields: ['responses', { model, input: 'x', ...Object.fromEntries(range(200_000).map((index) => [`field_${index}`, 1])) }],
  picture: [
    'responses',
    {
      model,
      input: [
        { role: 'user', content: [{ type: 'input_image', image_url: `data:image/png;base64,${'iVBORw0KGgoA'.repeat(1.6e6)}` }] },
      ],
    },
  ],
  embeddings: ['embeddings', { model: 'svc-embed', input: range(1_000).map((index) => `text ${index}`) }],
  'calls of an upstream': ['chat/completions', chat('attack-calls')],
  'nesting of an upstream': ['chat/completions', chat('attack-nesting')],
}

async function attack({ url, key, idleKey }: Target): Promise<void> {
  const dispatcher = new Agent({ connections: 2 * Object.keys(attacks).length, pipelining: 1 })
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
  const counts: Record<string, Record<number, number>> = {}
  const repeat = async (name: string, path: string, body: Buffer): Promise<never> => {
    for (;;) {
      const { statusCode, body: answer } = await request(`${url}/v1/${path}`, { method: 'POST', dispatcher, headers, body })
      await answer.dump({ limit: 2 ** 30 })
      const kind = (counts[name] ??= {})
      kind[statusCode] = (kind[statusCode] ?? 0) + 1
      parentPort?.postMessage(counts)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const { hostname, port } = new URL(url)
  for (const _ of range(100))
    connect(Number(port), hostname)
      .on('error', () => undefined)
      .write(
        `POST /v1/messages/count_tokens HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${idleKey}\r\ncontent-type: application/json\r\ncontent-length: ${31 * 2 ** 20}\r\n\r\n`,
      )
  await Promise.all(
    Object.entries(attacks).flatMap(([name, [path, body]]) => {
      const bytes = Buffer.from(JSON.stringify(body))
      return [repeat(name, path, bytes), repeat(name, path, bytes)]
    }),
  )
}

upstream.listen(0, '127.0.0.1', () => parentPort?.postMessage(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`))
parentPort?.on('message', (target: Target) => void attack(target))
