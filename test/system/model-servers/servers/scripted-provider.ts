/** The provider behind LiteLLM: answers "one two three four", and fails where the last message is one of the key words of the recordings. */
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

export interface Provider {
  readonly url: string
  close(): void
}

const words = ['one ', 'two ', 'three ', 'four']
const refusals: Readonly<Record<string, readonly [number, object | string]>> = {
  BAD: [400, { error: { message: 'Invalid value for temperature', type: 'invalid_request_error', code: null } }],
  AUTH: [
    401,
    { error: { message: 'Incorrect API key provided: sk-provider', type: 'invalid_request_error', code: 'invalid_api_key' } },
  ],
  RATE: [429, { error: { message: 'Rate limit reached', type: 'requests', code: 'rate_limit_exceeded' } }],
  FAIL: [500, { error: { message: 'The server had an error', type: 'server_error', code: null } }],
  BUSY: [503, { error: { message: 'The engine is overloaded', type: 'server_error', code: null } }],
  HTML: [502, '<html><body>Bad Gateway</body></html>'],
  CTX: [
    400,
    {
      error: {
        message: "This model's maximum context length is 512 tokens. However, your messages resulted in 900 tokens.",
        type: 'invalid_request_error',
        code: 'context_length_exceeded',
      },
    },
  ],
}

interface ProviderRequest {
  readonly messages?: readonly { readonly role: string; readonly content: unknown }[]
  readonly stream?: boolean
  readonly n?: number
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
}

export async function startProvider(): Promise<Provider> {
  const server = createServer((request, response) => {
    if (request.url?.endsWith('/chat/completions') !== true) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"Not found"}}')
      return
    }
    let body = ''
    request.on('data', (piece: Buffer) => (body += piece.toString()))
    request.on('end', () => void answer(JSON.parse(body || '{}') as ProviderRequest, response))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function answer({ messages = [], stream = false, n = 1, tools }: ProviderRequest, response: ServerResponse): Promise<void> {
  const last = messages.at(-1)
  const key = typeof last?.content === 'string' ? last.content : ''
  const refusal = refusals[key]
  if (refusal !== undefined) {
    const [status, body] = refusal
    response.writeHead(status, {
      'content-type': typeof body === 'string' ? 'text/html' : 'application/json',
      'retry-after': '7',
    })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
    return
  }
  const name = last?.role === 'tool' ? undefined : tools?.[0]?.function.name
  const indices = Array.from({ length: n }, (_, index) => index)
  const said = key === 'EMPTY' ? [] : words
  const usage = { prompt_tokens: 9, completion_tokens: said.length * n, total_tokens: 9 + said.length * n }
  const call = { id: 'call_1', type: 'function', function: { name, arguments: '{"city":"Paris"}' } }
  const base = { id: 'chatcmpl-scripted1', created: 1_795_510_000, model: 'tiny' }
  if (!stream) {
    const message =
      name === undefined
        ? { role: 'assistant', content: said.join('') }
        : { role: 'assistant', content: null, tool_calls: [call] }
    const choices = indices.map((index) => ({ index, message, finish_reason: name === undefined ? 'stop' : 'tool_calls' }))
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ ...base, object: 'chat.completion', choices, usage }))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (fields: object): boolean =>
    response.write(`data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', ...fields })}\n\n`)
  const deltas =
    name === undefined ? said.map((content) => ({ content })) : [{ role: 'assistant', tool_calls: [{ index: 0, ...call }] }]
  for (const [position, delta] of deltas.entries()) {
    for (const index of indices) send({ choices: [{ index, delta }] })
    await new Promise((resolve) => setTimeout(resolve, 20))
    if (position < 1) continue
    if (key === 'ERRS')
      return void response.end('data: {"error":{"message":"The server had an error","type":"server_error"}}\n\n')
    if (key === 'CUT') return void response.socket?.end()
    if (key === 'CUT-RST') return void response.socket?.resetAndDestroy()
  }
  if (key !== 'NOFIN')
    for (const index of indices)
      send({ choices: [{ index, delta: {}, finish_reason: name === undefined ? 'stop' : 'tool_calls' }] })
  send({ choices: [], usage })
  response.end(key === 'NODONE' ? '' : 'data: [DONE]\n\n')
}
