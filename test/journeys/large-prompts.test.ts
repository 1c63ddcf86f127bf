/** A prompt of megabytes passes every rule that a short one does, says the same to the upstream, and leaves others their turn. */
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import t from 'tap'
import type { ChatRequest } from '../../src/exchange/chat-request.ts'
import { startGateway, until } from '../support/gateway.ts'

const long = 'The quick brown fox, and "then" 额外的一天.\n'.repeat(40_000)

t.test('the upstream is sent it value for value, and its retry with the same key is known', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  let sent = ''
  g.demo.script((call) => {
    sent = call.rawBody
    return {}
  })
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: long },
  ]
  const headers = { 'idempotency-key': 'once' }
  const answer = await g.chat(token, { messages, temperature: 0.5 }, { headers })
  t.equal(answer.status, 200, await answer.text())
  await g.settled()
  // The demonstration remembers the first megabyte of what it was sent.
  const begins = JSON.stringify({ messages }).slice(1, -2)
  t.ok(sent.includes(begins.slice(0, 500_000)), sent.slice(0, 200))
  t.match(await g.turns(), [{ state: 'settled' }])

  t.equal((await g.chat(token, { messages, temperature: 0.5 }, { headers })).status, 409, 'the same again')
  t.equal((await g.chat(token, { messages, temperature: 0.6 }, { headers })).status, 400, 'another under its key')
  t.equal((await g.turns()).length, 1)
})

t.test('it is refused for what a short one is refused for', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  const good = { role: 'user', content: long }
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
  t.same(await g.turns(), [], 'nothing was held')
})

t.test('a client who leaves while it is held is charged nothing, and the upstream hears nothing', async (t) => {
  const g = await startGateway(t)
  const { id, token } = await g.member()
  const reserve = g.services.ledger.reserve.bind(g.services.ledger)
  const gone = new AbortController()
  const counted = new Promise<void>((resolve) => {
    g.services.ledger.reserve = async (asked) => {
      gone.abort()
      await until(() => g.services.limits.running.size > 0, 'the turn to run')
      await new Promise((seen) => setTimeout(seen, 50))
      resolve()
      return reserve(asked)
    }
  })
  await t.rejects(g.chat(token, { messages: [{ role: 'user', content: long }] }, { signal: gone.signal }))
  await counted
  await until(async () => (await g.turns(id)).some(({ state }) => state !== 'held'), 'the hold to end')
  t.match(await g.turns(id), [{ credits: 0, outputTokens: 0 }])
  t.equal(g.demo.calls.length, 0)
  await until(() => g.services.limits.running.size === 0, 'its place to be free')
})

t.test('a client who leaves while it waits to be read is let go, and nothing is held', async (t) => {
  const g = await startGateway(t)
  const { id, token } = await g.member()
  const gone = new AbortController()
  const { largeBodies } = g.services
  const read = largeBodies.read.bind(largeBodies)
  let asked = ''
  largeBodies.read = (chunks, member, onLeave) => {
    asked = member
    // Another one is in the thread all the while.
    read([Buffer.from('x'.repeat(300_000))], 'another', () => undefined).catch(() => undefined)
    const reading = read(chunks, member, onLeave)
    gone.abort()
    return reading
  }
  await t.rejects(g.chat(token, { messages: [{ role: 'user', content: long }] }, { signal: gone.signal }))
  await until(() => g.services.limits.running.size === 0, 'its place to be free')
  t.equal(asked, id, 'lines are by member')
  t.same(await g.turns(id), [])
  t.equal(g.demo.calls.length, 0)
})

t.test('one whose thread dies is told so, and the next is served', async (t) => {
  const g = await startGateway(t)
  const { id, token } = await g.member()
  const { largeBodies } = g.services
  const read = largeBodies.read.bind(largeBodies)
  const messages = [{ role: 'user', content: long }]
  // No bytes, of which the thread dies.
  const nonsense = { length: 8_192, byteLength: 8_192, buffer: new ArrayBuffer(8_192) } as Buffer
  largeBodies.read = (_chunks, member, onLeave) => read([nonsense], member, onLeave)
  const broken = await g.chat(token, { messages })
  t.equal(broken.status, 500)
  t.match(await broken.json(), { ok: false, code: 'internal_error' })
  largeBodies.read = read
  t.equal((await g.chat(token, { messages })).status, 200)
  await g.settled()
  t.equal((await g.turns(id)).length, 1, 'nothing was held for the first')
})

t.test('a stop while one is being read lets it finish', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  const { largeBodies } = g.services
  const read = largeBodies.read.bind(largeBodies)
  let closing: Promise<void> | undefined
  largeBodies.read = (chunks, member, onLeave) => {
    closing = g.gateway.close({ drainMs: 10_000 })
    return read(chunks, member, onLeave)
  }
  const answer = await g.chat(token, { messages: [{ role: 'user', content: long }] })
  t.equal(answer.status, 200)
  await answer.text()
  await closing
})

t.test('it is sent whole and again where its target refuses it first, before or after having read it', async (t) => {
  let refusal: 'at its head' | 'once read' | null = null
  const sent: string[] = []
  const server = createServer((req, res) => {
    const refuse = (message: string) =>
      res.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }))
    if (req.method === 'GET') return void res.writeHead(404).end()
    if (refusal === 'at its head') {
      refusal = null
      // As a proxy in front of a model does: said, and the line is closed on what still comes.
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
  const { id, token } = await g.member()
  const messages = [{ role: 'user', content: long }]
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
  await g.settled()
  t.match(await g.turns(id), [{ state: 'refunded' }, { state: 'settled' }])
})

t.test('when its turn has ended, however it has, nobody reads in its memory any more', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  const { largeBodies } = g.services
  const read = largeBodies.read.bind(largeBodies)
  const chats: ChatRequest[] = []
  largeBodies.read = async (chunks, member, onLeave) => {
    const chat = await read(chunks, member, onLeave)
    chats.push(chat)
    t.equal(chat.messages.length, 1, 'while it lasts')
    return chat
  }
  const messages = [{ role: 'user', content: long }]
  for (const [body, status] of [
    [{ messages }, 200],
    [{ messages, stream: true }, 200],
    [{ messages, model: 'svc-0' }, 400],
    [{ messages, models: ['x'] }, 400],
  ] as const) {
    const answer = await g.chat(token, body)
    t.equal(answer.status, status, await answer.text())
  }
  await g.settled()
  t.equal(chats.length, 4)
  // What was parsed before stays; what is copied out of the memory does not.
  await until(() => chats.every((chat) => throwsOver(() => JSON.stringify(chat.worked?.messages.developer))), 'all to be over')
})

function throwsOver(look: () => unknown): boolean {
  try {
    look()
  } catch (error) {
    return (error as Error).message === 'the request is over'
  }
  return false
}

t.test('what one is sent holds nothing of another, whoever leaves and whenever the upstream answers', async (t) => {
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
      // One in three is answered before it is read, and then waits in the socket for a while.
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
  const members = await Promise.all(Array.from({ length: 3 }, () => g.member()))
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
      // It has left.
    }
  }
  for (let round = 0; round < 4; round++) await Promise.all(Array.from({ length: 12 }, (_, i) => ask(round * 12 + i)))
  await g.settled()
  t.ok(done >= 24, `${done} were answered`)
  t.ok(sent.length >= 20, `${sent.length} were read to their end`)
  for (const body of sent) {
    const { content } = (JSON.parse(body) as { messages: { content: string }[] }).messages[0] ?? { content: '' }
    t.ok(content === contentOf(Number(/\d+/.exec(content)?.[0])), content.slice(0, 40))
  }
})
