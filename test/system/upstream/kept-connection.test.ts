/** Connections to an upstream that closes them without saying so. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { startGateway } from '../../support/gateway/test-gateway.ts'

interface Call {
  /** Number of the connection, and of the request on it, from 1. */
  readonly connection: number
  readonly position: number
}

/** A gateway before an upstream that answers as `answer` says, and the calls that reached it. */
async function startBefore(t: Test, answer: (response: ServerResponse, call: Call, nth: number) => void) {
  const calls: Call[] = []
  const connections = new Map<Socket, { readonly number: number; requests: number }>()
  const server = createServer((request, response) => {
    let connection = connections.get(request.socket)
    if (connection === undefined) connections.set(request.socket, (connection = { number: connections.size + 1, requests: 0 }))
    const call = { connection: connection.number, position: ++connection.requests }
    calls.push(call)
    request.resume().on('end', () => answer(response, call, calls.length))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const g = await startGateway(t, {
    upstreams: { main: { baseUrl: `http://127.0.0.1:${port}/v1` } },
    products: { 'svc-2.1': { targets: [{ upstream: 'main', model: 'm' }] } },
  })
  const { token } = await g.createMember()
  return { g, calls, ask: async () => (await g.chat(token)).status }
}

function answerWell(response: ServerResponse): void {
  const choice = {
    index: 0,
    message: { role: 'assistant', content: 'Hello', refusal: null },
    logprobs: null,
    finish_reason: 'stop',
  }
  const usage = { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 }
  response
    .setHeader('content-type', 'application/json')
    .end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [choice], usage }))
}

const reset = ({ socket }: ServerResponse): void => void socket?.resetAndDestroy()

t.test('does not keep the connection of an answer that failed', async (t) => {
  const sendStatus = (status: number) => (response: ServerResponse) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}')
  for (const [name, fail, kept] of [
    ['a 500', sendStatus(500), false],
    ['an empty stream', (response: ServerResponse) => void response.end(), false],
    ['an error in a 200', sendStatus(200), false],
    [
      'a whole answer without a finish reason',
      (response: ServerResponse) => void response.end('{"choices":[{"index":0,"message":{}}]}'),
      false,
    ],
    ['a 400', sendStatus(400), true],
  ] as const) {
    const { ask, calls } = await startBefore(t, (response, _, nth) => (nth === 1 ? fail(response) : answerWell(response)))
    await ask()
    const failed = calls.length
    t.equal(await ask(), 200, name)
    t.equal(
      calls.slice(failed).every(({ position }) => position === (kept ? failed + 1 : 1)),
      true,
      `${name}: ${kept ? 'kept' : 'new'}`,
    )
  }
})

t.test('sends a request again on a new connection if its kept connection was closed', async (t) => {
  const { g, ask, calls } = await startBefore(t, (response, { position }) =>
    position === 1 ? answerWell(response) : reset(response),
  )
  t.same([await ask(), await ask(), await ask()], [200, 200, 200])
  t.ok(
    calls.some(({ position }) => position > 1),
    'a kept connection was used',
  )
  t.match(await g.listTurns(), [{ state: 'settled' }, { state: 'settled' }, { state: 'settled' }])
})

t.test('sends a request again only once, and only before the first byte of an answer', async (t) => {
  const { ask, calls } = await startBefore(t, (response, _, nth) => (nth === 1 ? answerWell(response) : reset(response)))
  t.same([await ask(), await ask()], [200, 502])
  t.equal(calls.length, 3, 'the kept connection and a new one')
  const midway = await startBefore(t, (response, _, nth) => {
    if (nth === 1) return answerWell(response)
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"choices"')
    setTimeout(() => reset(response), 50)
  })
  t.same([await midway.ask(), await midway.ask()], [200, 502])
  t.equal(midway.calls.length, 2)
  const fresh = await startBefore(t, (response) => reset(response))
  t.equal(await fresh.ask(), 502)
  t.equal(fresh.calls.length, 1, 'not on a new connection')
})

t.test('sends a request again only if nothing of an answer was received', async (t) => {
  for (const [name, part] of [
    ['bytes that are no answer', 'SSH-2.0-OpenSSH_10.0\r\n'],
    ['half a status line', 'HTTP/1.1 20'],
    ['a part of a head', 'HTTP/1.1 200 OK\r\ncontent-ty'],
    ['a single byte', 'H'],
    ['a head above 16 KiB', `HTTP/1.1 200 OK\r\nx-long: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['an answer with two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n'],
    ['an informational response', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ] as const) {
    const { g, ask, calls } = await startBefore(t, (response, { position }) => {
      if (position === 1) return answerWell(response)
      response.socket?.end(part)
    })
    t.same([await ask(), await ask()], [200, 502], name)
    t.equal(calls.length, 2, `${name}: sent once`)
    t.match(await g.listTurns(), [{ state: 'refunded' }, { state: 'settled' }], name)
  }
})
