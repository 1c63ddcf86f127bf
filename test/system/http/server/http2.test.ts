/** HTTP/2 over TLS: the same application, and rapid cancellation by one client harms no other. */
import { once } from 'node:events'
import http2 from 'node:http2'
import https from 'node:https'
import tls from 'node:tls'
import t from 'tap'
import { definePlugin } from '../../../../src/index.ts'
import { hugeAnswerConfig, hugeCap } from '../../../support/gateway/huge-answer.ts'
import { startGateway, createTemporaryFolder, testConfig, waitUntil } from '../../../support/gateway/test-gateway.ts'
import { createSelfSignedCertificate } from '../../../support/servers/tls-certificate.ts'

const { cert, key, ca } = createSelfSignedCertificate(createTemporaryFolder(t))
const g = await startGateway(t, { listen: { tls: { cert, key } } })
const { token } = await g.createMember()
const good = { model: 'svc-2.1', messages: [{ role: 'user', content: 'Hello!' }] }

async function session(url = g.url): Promise<http2.ClientHttp2Session> {
  const session = http2.connect(url, { ca })
  session.on('error', () => undefined)
  t.teardown(() => session.destroy())
  await once(session, 'connect')
  return session
}

function ask(on: http2.ClientHttp2Session, body: unknown, headers: Record<string, string> = {}): http2.ClientHttp2Stream {
  const stream = on.request({
    ':method': 'POST',
    ':path': '/v1/chat/completions',
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    ...headers,
  })
  stream.on('error', () => undefined)
  stream.end(JSON.stringify(body))
  return stream
}

async function read(
  stream: http2.ClientHttp2Stream,
): Promise<{ status: number; headers: http2.IncomingHttpHeaders; text: string }> {
  const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders & { ':status': number }]
  let text = ''
  for await (const chunk of stream as AsyncIterable<Buffer>) text += chunk.toString()
  return { status: headers[':status'], headers, text }
}

t.test('answers requests, streams and failures as over HTTP/1.1', async (t) => {
  const on = await session()
  t.equal(on.alpnProtocol, 'h2')
  const whole = await read(ask(on, good))
  t.equal(whole.status, 200)
  t.match(JSON.parse(whole.text), { model: 'svc-2.1' })
  t.match(whole.headers['x-request-id'], /^mbr_/)
  const streamed = await read(ask(on, { ...good, stream: true }))
  t.equal(streamed.headers['content-type'], 'text/event-stream; charset=utf-8')
  t.match(streamed.text, /data: \[DONE\]\n\n$/)
  const refused = await read(ask(on, good, { authorization: 'Bearer nonsense' }))
  t.equal(refused.status, 401)
  t.match(JSON.parse(refused.text), { ok: false, code: 'sign_in_required' })
  const broken = await read(
    ask(on, { ...good, stream: true, messages: [{ role: 'user', content: 'demo:{"reset":{"afterEvents":3}}' }] }),
  )
  t.equal(broken.status, 200)
  t.match(broken.text, /"code":"upstream_error".*data: \[DONE\]/s)
  const many = await Promise.all(Array.from({ length: 50 }, () => read(ask(on, { ...good, stream: true }))))
  t.ok(
    many.every(({ status, text }) => status === 200 && text.endsWith('[DONE]\n\n')),
    'fifty at once over one connection',
  )
})

t.test('accepts its own host name at the MCP server and refuses others', async (t) => {
  const on = await session()
  const call = (headers: Record<string, string>) =>
    read(ask(on, { name: 'web_search', arguments: { query: 'x' } }, { ':path': '/v1/mcp/tools/call', ...headers }))
  const answer = await call({})
  t.equal(answer.status, 200)
  t.match(JSON.parse(answer.text), { schema: 'svc.search.v1' })
  for (const headers of [{ ':authority': 'evil.example' }, { ':authority': 'evil.example', host: '127.0.0.1' }])
    t.equal((await call(headers)).status, 403, JSON.stringify(headers))
})

t.test('refuses malformed HTTP/1.1 over TLS as it does without TLS', async (t) => {
  for (const [name, bytes, status] of [
    ['no host', 'GET /healthz HTTP/1.1\r\n\r\n', 400],
    ['two hosts', 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
    ['too much of a header', `GET /healthz HTTP/1.1\r\nHost: a\r\nX-Big: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
  ] as const) {
    const { hostname, port } = new URL(g.url)
    const socket = tls.connect({ host: hostname, port: Number(port), ca })
    let text = ''
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
    socket.on('error', () => undefined)
    socket.write(bytes)
    await once(socket, 'close')
    t.ok(text.startsWith(`HTTP/1.1 ${status} `), name)
    t.match(text, /x-request-id: mbr_[0-9A-Z]{26}\r\n/, name)
    t.match(text, /strict-transport-security: /, name)
  }
})

t.test('fails a turn for an invalid header of a plugin, streamed and whole, and charges nothing', async (t) => {
  const bad = definePlugin({ name: 'bad', onResponse: (x) => void (x.headers['x-bad'] = 'a\r\nb') })
  const plugins = [...testConfig(t).plugins, bad]
  const gateway = await startGateway(t, { plugins, listen: { tls: { cert, key } } })
  const member = await gateway.createMember()
  const on = await session(gateway.url)
  for (const stream of [true, false]) {
    const { status, text } = await read(ask(on, { ...good, stream }, { authorization: `Bearer ${member.token}` }))
    t.equal(status, 500, `stream: ${stream}`)
    t.match(JSON.parse(text), { code: 'internal_error' })
    t.match(await gateway.listTurns(member.id), [{ state: 'refunded' }])
  }
})

t.test('serves HTTP/1.1 on the same port', async (t) => {
  const status = await new Promise((resolve, reject) => {
    https.get(`${g.url}/healthz`, { ca }, (response) => resolve(response.resume().statusCode)).on('error', reject)
  })
  t.equal(status, 200)
})

t.test('treats a stream reset as a disconnected client: closes the upstream call and settles the turn', async (t) => {
  const on = await session()
  const slow = { ...good, stream: true, messages: [{ role: 'user', content: 'demo:{"tokens":1000,"betweenMs":10}' }] }
  const stream = ask(on, slow)
  await once(stream, 'data')
  const call = g.demo.calls.at(-1)
  stream.close(http2.constants.NGHTTP2_CANCEL)
  await call?.ended
  t.type(call?.abortedAt, 'number')
  t.ok((call?.tokens ?? Infinity) < 500, `closed after ${call?.tokens} of 1000 tokens`)
  await g.waitUntilSettled()
  const [turn] = await g.listTurns()
  t.match(turn, { state: 'settled', estimated: true })
})

t.test('lets a slow reader that is given up tell a partial response from a complete one', async (t) => {
  const g = await startGateway(t, { ...hugeAnswerConfig, listen: { tls: { cert, key } }, timeouts: { slowReaderMs: 500 } })
  const { token } = await g.createMember()
  g.demo.script(() => ({ tokens: 100, hugeBytes: 1_000_000 }))
  const stream = ask(await session(g.url), { ...good, ...hugeCap, stream: true }, { authorization: `Bearer ${token}` })
  const ends: string[] = []
  for (const end of ['end', 'error']) stream.on(end, () => ends.push(end))
  await once(stream, 'response')
  await waitUntil(() => g.services.limits.concurrency.size === 0, 'the slow reader to be given up')
  await g.waitUntilSettled()
  t.match(await g.listTurns(), [{ state: 'settled' }])
  stream.resume()
  await waitUntil(() => stream.closed && stream.destroyed, 'the stream to close')
  t.strictSame(ends, ['error'])
  t.not(stream.rstCode, http2.constants.NGHTTP2_NO_ERROR)
})

t.test('limits rapid resets to the connection that sends them', async (t) => {
  const bad = await session()
  const before = g.demo.stats().requests
  // A stream that is reset before its request was written never reaches the server. Each second allows 33 resets more.
  for (let batch = 0; batch < 200 && !bad.destroyed && !bad.closed; batch++) {
    const streams = Array.from({ length: 50 }, () => ask(bad, good))
    await new Promise((resolve) => setImmediate(resolve))
    for (const stream of streams) stream.close(http2.constants.NGHTTP2_CANCEL)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await waitUntil(() => bad.destroyed || bad.closed, 'the server to end the connection')
  await waitUntil(() => g.services.limits.concurrency.size === 0, 'all turns to end')
  const good0 = await session()
  t.equal((await read(ask(good0, good))).status, 200, 'other connections are served')
  t.ok(g.demo.stats().requests - before < 1_000, `${g.demo.stats().requests - before} reached the upstream`)
  await g.waitUntilSettled()
})

t.test('refuses a header list beyond the limit', async (t) => {
  const on = await session()
  const stream = ask(on, good, { 'x-big': 'x'.repeat(40_000) })
  const { status, text } = await read(stream)
  t.equal(status, 431)
  t.match(JSON.parse(text), { ok: false, code: 'invalid_request' })
})
