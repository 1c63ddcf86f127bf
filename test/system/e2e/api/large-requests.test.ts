/** A prompt of megabytes passes the same rules as a short one, is sent upstream unchanged, and does not starve other requests. */
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import t from 'tap'
import type { ChatRequest } from '../../../../src/exchange/request/chat-request.ts'
import { getAnalysis } from '../../../../src/exchange/request/request-analysis.ts'
import { startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'

const longPrompt = 'The quick brown fox, and "then" 额外的一天.\n'.repeat(40_000)

t.test('sends a large request upstream value for value and recognises its retry by the idempotency key', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  let sent = ''
  g.demo.script((call) => {
    sent = call.rawBody
    return {}
  })
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: longPrompt },
  ]
  const headers = { 'idempotency-key': 'once' }
  const answer = await g.chat(token, { messages, temperature: 0.5 }, { headers })
  t.equal(answer.status, 200, await answer.text())
  await g.waitUntilSettled()
  // The demonstration upstream keeps the first megabyte of a request.
  const begins = JSON.stringify({ messages }).slice(1, -2)
  t.ok(sent.includes(begins.slice(0, 500_000)), sent.slice(0, 200))
  t.match(await g.listTurns(), [{ state: 'settled' }])

  t.equal((await g.chat(token, { messages, temperature: 0.5 }, { headers })).status, 409, 'the same again')
  t.equal((await g.chat(token, { messages, temperature: 0.6 }, { headers })).status, 400, 'another under its key')
  t.equal((await g.listTurns()).length, 1)
})

t.test('refuses a large request for the same reasons as a short one', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  const good = { role: 'user', content: longPrompt }
  for (const [body, param] of [
    [{ messages: [good, { role: 'user', content: 5 }] }, 'messages[1].content'],
    [{ messages: [good, { role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] }, 'messages[1].content[0]'],
    [{ messages: [good], models: ['x'] }, 'models'],
    [{ messages: [good], n: 99 }, 'n'],
  ] as const) {
    const answer = await g.chat(token, body)
    t.equal(answer.status, 400)
    t.match(await answer.json(), { error: { code: 'invalid_request', param } })
  }
  t.same(await g.listTurns(), [], 'nothing was held')
})

t.test('charges nothing and calls no upstream when the client disconnects during the hold', async (t) => {
  const g = await startGateway(t)
  const { id, token } = await g.createMember()
  const reserve = g.services.ledger.reserve.bind(g.services.ledger)
  const gone = new AbortController()
  const counted = new Promise<void>((resolve) => {
    g.services.ledger.reserve = async (asked) => {
      gone.abort()
      await waitUntil(() => g.services.limits.concurrency.size > 0, 'the turn to run')
      await new Promise((seen) => setTimeout(seen, 50))
      resolve()
      return reserve(asked)
    }
  })
  await t.rejects(g.chat(token, { messages: [{ role: 'user', content: longPrompt }] }, { signal: gone.signal }))
  await counted
  await waitUntil(async () => (await g.listTurns(id)).some(({ state }) => state !== 'held'), 'the hold to end')
  t.match(await g.listTurns(id), [{ credits: 0, outputTokens: 0 }])
  t.equal(g.demo.calls.length, 0)
  await waitUntil(() => g.services.limits.concurrency.size === 0, 'its place to be free')
})

t.test('releases a client that disconnects while its body waits to be parsed', async (t) => {
  const g = await startGateway(t)
  const { id, token } = await g.createMember()
  const gone = new AbortController()
  const { bodyParser } = g.services
  const read = bodyParser.parse.bind(bodyParser)
  let asked = ''
  bodyParser.parse = (chunks, member, onLeave) => {
    asked = member
    // The parser thread works on another body all the while.
    read([Buffer.from('x'.repeat(300_000))], 'another', () => undefined).catch(() => undefined)
    const reading = read(chunks, member, onLeave)
    gone.abort()
    return reading
  }
  await t.rejects(g.chat(token, { messages: [{ role: 'user', content: longPrompt }] }, { signal: gone.signal }))
  await waitUntil(() => g.services.limits.concurrency.size === 0, 'its place to be free')
  t.equal(asked, id, 'lines are by member')
  t.same(await g.listTurns(id), [])
  t.equal(g.demo.calls.length, 0)
})

t.test('fails the request whose parser thread dies and serves the next one', async (t) => {
  const g = await startGateway(t)
  const { id, token } = await g.createMember()
  const { bodyParser } = g.services
  const read = bodyParser.parse.bind(bodyParser)
  const messages = [{ role: 'user', content: longPrompt }]
  // A chunk that lies beyond its memory ends the thread.
  const nonsense = { length: 8_192, byteLength: 8_192, byteOffset: 9_000, buffer: new ArrayBuffer(8_192) } as Buffer
  bodyParser.parse = (_chunks, member, onLeave) => read([nonsense], member, onLeave)
  const broken = await g.chat(token, { messages })
  t.equal(broken.status, 500)
  t.match(await broken.json(), { ok: false, code: 'internal_error' })
  bodyParser.parse = read
  t.equal((await g.chat(token, { messages })).status, 200)
  await g.waitUntilSettled()
  t.equal((await g.listTurns(id)).length, 1, 'nothing was held for the first')
})

t.test('lets a body that is being parsed finish at shutdown', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  const { bodyParser } = g.services
  const read = bodyParser.parse.bind(bodyParser)
  let closing: Promise<void> | undefined
  bodyParser.parse = (chunks, member, onLeave) => {
    closing = g.gateway.close({ drainMs: 10_000 })
    return read(chunks, member, onLeave)
  }
  const answer = await g.chat(token, { messages: [{ role: 'user', content: longPrompt }] })
  t.equal(answer.status, 200)
  await answer.text()
  await closing
})

t.test('sends the whole body again after a target refuses it, before or after reading it', async (t) => {
  let refusal: 'at its head' | 'once read' | null = null
  const sent: string[] = []
  const server = createServer((req, res) => {
    const refuse = (message: string) =>
      res.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }))
    if (req.method === 'GET') return void res.writeHead(404).end()
    if (refusal === 'at its head') {
      refusal = null
      // As a proxy in front of a model does: it answers, then closes the connection with the body unread.
      refuse('the input is too long')
      req.socket.end()
      return
    }
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      sent.push(Buffer.concat(chunks).toString())
      if (refusal !== null) {
        refusal = null
        return refuse(
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        )
      }
      const chunk = (delta: object, finish: string | null) =>
        `data: ${JSON.stringify({ id: 'x', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.end(`${chunk({ content: 'Hello.' }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close().closeAllConnections())
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const g = await startGateway(t, {
    upstreams: { main: { baseUrl } },
    products: { 'svc-2.1': { targets: [{ upstream: 'main', model: 'm' }] } },
  })
  const { id, token } = await g.createMember()
  const messages = [{ role: 'user', content: longPrompt }]
  refusal = 'once read'
  t.equal((await g.chat(token, { messages })).status, 200)
  t.same(
    sent.map((body) => Object.keys(JSON.parse(body) as object).includes('max_completion_tokens')),
    [false, true],
  )
  for (const body of sent) t.same((JSON.parse(body) as { messages: unknown }).messages, messages)
  refusal = 'at its head'
  const refused = await g.chat(token, { messages })
  t.equal(refused.status, 400, await refused.text())
  await g.waitUntilSettled()
  t.match(await g.listTurns(id), [{ state: 'refunded' }, { state: 'settled' }])
})

t.test('reads no returned buffer after the turn has ended, however it ended', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  const { bodyParser } = g.services
  const read = bodyParser.parse.bind(bodyParser)
  const chats: ChatRequest[] = []
  bodyParser.parse = async (chunks, member, onLeave) => {
    const chat = await read(chunks, member, onLeave)
    chats.push(chat)
    t.equal(chat.messages.length, 1, 'while it lasts')
    return chat
  }
  const messages = [{ role: 'user', content: longPrompt }]
  for (const [body, status] of [
    [{ messages }, 200],
    [{ messages, stream: true }, 200],
    [{ messages, model: 'svc-0' }, 400],
    [{ messages, models: ['x'] }, 400],
  ] as const) {
    const answer = await g.chat(token, body)
    t.equal(answer.status, status, await answer.text())
  }
  await g.waitUntilSettled()
  t.equal(chats.length, 4)
  // Values parsed earlier stay; values copied from the buffer do not.
  await waitUntil(
    () => chats.every((chat) => throwsOnDetached(() => JSON.stringify(getAnalysis(chat)?.fields['messages']))),
    'all to be over',
  )
})

function throwsOnDetached(access: () => unknown): boolean {
  try {
    access()
  } catch (error) {
    return (error as Error).message === 'the request is over'
  }
  return false
}

t.test('never mixes bytes of one request into another, whichever client disconnects', async (t) => {
  const event = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ id: 'x', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  const events = `${event({ content: 'Hello.' }, null)}${event({}, 'stop')}data: [DONE]\n\n`
  const answer = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${events.length}\r\n\r\n${events}`
  const sent: string[] = []
  let asked = 0
  const server = createTcpServer((socket) => {
    let received = ''
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1')
      const headEnd = received.indexOf('\r\n\r\n') + 4
      if (headEnd < 4) return
      const bodyBytes = Number(/content-length: (\d+)/i.exec(received.slice(0, headEnd))?.[1] ?? 0)
      const isNew = received.length - bytes.length < headEnd
      // One in three is answered before its body is read, and then stays in the socket for a while.
      if (isNew && bodyBytes > 0 && ++asked % 3 === 0) {
        socket.write(answer)
        socket.pause()
        setTimeout(() => socket.resume(), 100)
        hasty.add(socket)
      }
      if (received.length < headEnd + bodyBytes) return
      if (bodyBytes > 0) sent.push(received.slice(headEnd, headEnd + bodyBytes))
      received = received.slice(headEnd + bodyBytes)
      if (!hasty.delete(socket)) socket.write(bodyBytes > 0 ? answer : 'HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n')
    })
  })
  const hasty = new Set<Socket>()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const g = await startGateway(t, {
    upstreams: { main: { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` } },
    products: { 'svc-2.1': { targets: [{ upstream: 'main', model: 'm' }] } },
    plans: { pro: { concurrency: 20 } },
  })
  const members = await Promise.all(Array.from({ length: 3 }, () => g.createMember()))
  const contentOf = (i: number) => `<${i}>`.padEnd(8).repeat(40_000 + 1_000 * i)
  let done = 0
  const ask = async (i: number): Promise<void> => {
    const { token } = members[i % members.length] ?? { token: '' }
    const gone = new AbortController()
    if (i % 5 === 0) setTimeout(() => gone.abort(), 20 + i)
    try {
      const response = await g.chat(token, { messages: [{ role: 'user', content: contentOf(i) }] }, { signal: gone.signal })
      await response.text()
      if (response.status === 200) done++
    } catch {
      // The client has disconnected.
    }
  }
  for (let round = 0; round < 4; round++) await Promise.all(Array.from({ length: 12 }, (_, i) => ask(round * 12 + i)))
  await g.waitUntilSettled()
  t.ok(done >= 24, `${done} were answered`)
  t.ok(sent.length >= 20, `${sent.length} were read to their end`)
  for (const body of sent) {
    const { content } = (JSON.parse(body) as { messages: { content: string }[] }).messages[0] ?? { content: '' }
    t.ok(content === contentOf(Number(/\d+/.exec(content)?.[0])), content.slice(0, 40))
  }
})
