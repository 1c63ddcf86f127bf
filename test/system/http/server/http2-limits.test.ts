/** Timeouts and limits that hold over HTTP/1.1 and HTTP/2 alike, with shorter times than the shipped ones. */
import { once } from 'node:events'
import http2 from 'node:http2'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import tls from 'node:tls'
import t from 'tap'
import type { Test } from 'tap'
import { PluginChain } from '../../../../src/exchange/plugins/plugin-chain.ts'
import { createApp } from '../../../../src/http/app.ts'
import { listen } from '../../../../src/http/server/listen.ts'
import { TurnHandlers } from '../../../../src/tools/turn-handlers.ts'
import { createTemporaryFolder, startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'
import { createSelfSignedCertificate } from '../../../support/servers/tls-certificate.ts'

const { cert, key, ca } = createSelfSignedCertificate(createTemporaryFolder(t))
const timeouts = { headersMs: 400, requestMs: 800, keepAliveMs: 400 }
const gateway = await startGateway(t, { listen: { tls: { cert, key } } })
const { token } = await gateway.createMember()
const authorization = `Bearer ${token}`
const url = await listenWithShortTimeouts(t, gateway)
const port = Number(new URL(url).port)

/** The gateway's application on another socket. */
async function listenWithShortTimeouts(t: Test, { gateway, services, config }: TestGateway): Promise<string> {
  const turnHandlers = new TurnHandlers(services, gateway.threads.forwarder)
  const operations = {
    isDraining: () => false,
    notReadyReasons: () => [],
    mailNote: () => null,
    metricsText: async () => '',
    readFigures: () => Promise.reject(new Error('no console')),
    runDoctor: () => Promise.resolve(null),
    database: null,
  }
  const app = createApp({ services, chain: new PluginChain(config.plugins), turnHandlers, operations })
  const listener = await listen(app.callback(), services, null, timeouts)
  t.teardown(async () => {
    listener.destroyAfterGrace()
    await listener.close()
  })
  return listener.url
}

async function openSession(t: Test): Promise<http2.ClientHttp2Session> {
  const session = http2.connect(url, { ca })
  session.on('error', () => undefined)
  t.teardown(() => session.destroy())
  await once(session, 'connect')
  return session
}

function request(session: http2.ClientHttp2Session, headers: http2.OutgoingHttpHeaders): http2.ClientHttp2Stream {
  const stream = session.request({ ':method': 'POST', 'content-type': 'application/json', authorization, ...headers })
  stream.on('error', () => undefined)
  return stream
}

/** A streamed turn whose answer takes longer than a request may. */
function startLongTurn(session: http2.ClientHttp2Session): { readonly text: Promise<string> } {
  const stream = request(session, { ':path': '/v1/chat/completions' })
  const content = 'demo:{"tokens":30,"betweenMs":50}'
  stream.end(JSON.stringify({ model: 'svc-2.1', stream: true, messages: [{ role: 'user', content }] }))
  return { text: readText(stream) }
}

async function readStatus(stream: http2.ClientHttp2Stream): Promise<number | undefined> {
  let status: number | undefined
  stream.on('response', (headers) => (status = headers[':status']))
  await waitUntil(() => status !== undefined, 'a response')
  return status
}

interface Frame {
  readonly type: number
  readonly stream: number
  readonly payload: Buffer
}

/** A frame of HTTP/2 (RFC 9113, 4.1). */
function toFrame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

function listFrames(chunks: readonly Buffer[]): readonly Frame[] {
  const bytes = Buffer.concat(chunks)
  const frames: Frame[] = []
  for (let at = 0; at + 9 <= bytes.length;) {
    const end = at + 9 + bytes.readUIntBE(at, 3)
    frames.push({ type: bytes.readUInt8(at + 3), stream: bytes.readUInt32BE(at + 5), payload: bytes.subarray(at + 9, end) })
    at = end
  }
  return frames
}

/** Reads to the end of the response, also where the request is never complete. */
function readText(stream: http2.ClientHttp2Stream): Promise<string> {
  let text = ''
  stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
  return new Promise((resolve) => stream.on('close', () => resolve(text)).on('end', () => resolve(text)))
}

t.test('answers a request that does not arrive in time with 408, and leaves a running turn alone', async (t) => {
  const session = await openSession(t)
  const turn = startLongTurn(session)
  const slow = request(session, { ':path': '/oauth/register' })
  slow.write('{"redirect_uris":["')
  t.equal(await readStatus(slow), 408)
  t.match(JSON.parse(await readText(slow)), { ok: false, code: 'invalid_request', message: /did not arrive in time/ })
  await waitUntil(() => slow.closed, 'the stream to end')
  t.match(await turn.text, /\[DONE\]\n\n$/)
})

t.test('sends a refusal that waits for its body when the time is over, and ends the stream', async (t) => {
  const session = await openSession(t)
  const refused = request(session, { ':path': '/oauth/register' })
  refused.write(Buffer.alloc(300 * 1024, ' '))
  t.equal(await readStatus(refused), 413)
  refused.resume()
  await waitUntil(() => refused.closed, 'the stream to end')
})

t.test('answers a refused request once, where its body ends after the time is over', async (t) => {
  const session = await openSession(t)
  const refused = request(session, { ':path': '/v1/chat/completions', authorization: 'Bearer unknown' })
  refused.write('{')
  const statuses: unknown[] = []
  refused.on('response', (headers) => statuses.push(headers[':status']))
  await pause(timeouts.requestMs + 200)
  refused.end()
  await readText(refused)
  t.same(statuses, [401])
  t.match(await readText(request(session, { ':method': 'GET', ':path': '/healthz' }).end()), '{"ok":true}')
})

t.test('times a slow request out over HTTP/1.1 on the same port', async (t) => {
  const socket = tls.connect({ port, host: '127.0.0.1', ca, ALPNProtocols: ['http/1.1'] })
  t.teardown(() => socket.destroy())
  let text = ''
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
  socket.write('POST /oauth/register HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{')
  await once(socket, 'close')
  t.match(text, /^HTTP\/1\.1 408 /)
})

t.test('closes an HTTP/2 session without a request, whatever else its client sends', async (t) => {
  for (const sendsRequest of [false, true]) {
    const session = await openSession(t)
    if (sendsRequest) await readText(request(session, { ':method': 'GET', ':path': '/healthz' }).end())
    const pings = setInterval(() => session.destroyed || session.ping(() => undefined), 50)
    await waitUntil(() => session.destroyed, `the session to end ${sendsRequest ? 'after' : 'without'} a request`)
    clearInterval(pings)
  }
})

t.test('lets a session have 100 streams, and closes it for one more of a client that ignores that', async (t) => {
  const socket = tls.connect({ port: Number(new URL(gateway.url).port), host: '127.0.0.1', ca, ALPNProtocols: ['h2'] })
  t.teardown(() => socket.destroy())
  await once(socket, 'secureConnect')
  const received: Buffer[] = []
  socket.on('data', (chunk: Buffer) => received.push(chunk))
  // Names of HPACK's static table: POST, https, and literals of :path, :authority, content-length and content-type.
  const literal = (name: readonly number[], value: string): Buffer => Buffer.from([...name, value.length, ...Buffer.from(value)])
  const fields = Buffer.concat([
    Buffer.from([0x83, 0x87]),
    literal([0x04], '/oauth/register'),
    literal([0x01], 'localhost'),
    literal([0x0f, 0x0d], '5'),
    literal([0x0f, 0x10], 'application/json'),
  ])
  const openStream = (id: number): Buffer => toFrame(1, 4, id, fields)
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.write(toFrame(4, 0, 0))
  await waitUntil(() => listFrames(received).some(({ type }) => type === 4), 'the settings')
  const settings = listFrames(received).find(({ type }) => type === 4)?.payload ?? Buffer.alloc(0)
  const maxStreams = Array.from({ length: settings.length / 6 }, (_, nth) => nth * 6).find(
    (at) => settings.readUInt16BE(at) === 3,
  )
  t.equal(maxStreams === undefined ? null : settings.readUInt32BE(maxStreams + 2), 100)
  // The limit holds from when the client has acknowledged it.
  socket.write(toFrame(4, 1, 0))
  socket.write(Buffer.concat(Array.from({ length: 100 }, (_, nth) => openStream(2 * nth + 1))))
  socket.write(toFrame(6, 0, 0, Buffer.alloc(8)))
  await waitUntil(() => listFrames(received).some(({ type }) => type === 6), 'the answer to a ping')
  const isEnd = ({ type }: Frame): boolean => type === 3 || type === 7
  t.notOk(listFrames(received).some(isEnd), '100 streams are open')
  socket.write(openStream(201))
  await waitUntil(() => listFrames(received).some(isEnd), 'the refusal')
  t.match(listFrames(received).find(isEnd), { type: 7 }, 'GOAWAY')
  await waitUntil(() => socket.destroyed, 'the connection to be closed')
})

t.test('ends only the stream whose data is longer than its content-length', async (t) => {
  const session = await openSession(t)
  const turn = startLongTurn(session)
  const bad = request(session, { ':path': '/oauth/register', 'content-length': '5' })
  bad.write('{"a":')
  await pause(50)
  bad.end('1}')
  await waitUntil(() => bad.closed, 'the stream to be reset')
  t.equal(bad.rstCode, http2.constants.NGHTTP2_PROTOCOL_ERROR)
  t.match(await turn.text, /\[DONE\]\n\n$/)
  t.equal((await gateway.listTurns())[0]?.outputTokens, 30, 'the turn is charged for its whole answer')
})

t.test('ends a session that violates the protocol outside of a stream', async (t) => {
  const socket = tls.connect({ port, host: '127.0.0.1', ca, ALPNProtocols: ['h2'] })
  t.teardown(() => socket.destroy())
  await once(socket, 'secureConnect')
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])
  const dataOfNoStream = Buffer.from([0, 0, 1, 0, 0, 0, 0, 0, 0, 1])
  const received: Buffer[] = []
  socket.on('data', (piece: Buffer) => received.push(piece))
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), settings, dataOfNoStream]))
  socket.on('error', () => undefined)
  await once(socket, 'close')
  const goAway = listFrames(received).find(({ type }) => type === 7)
  t.equal(goAway?.payload.readUInt32BE(4), http2.constants.NGHTTP2_PROTOCOL_ERROR, 'GOAWAY')
})

for (const [name, overrides] of [
  ['HTTP/1.1', {}],
  ['HTTP/2', { listen: { tls: { cert, key } } }],
] as const)
  t.test(`limits the open connections of one address over ${name}`, async (t) => {
    const g = await startGateway(t, { ...overrides, limits: { connectionsPerAddress: 3 } })
    const sockets: Socket[] = []
    t.teardown(() => sockets.forEach((socket) => socket.destroy()))
    let closed = 0
    const open = (localAddress: string): void => {
      const target = { host: '127.0.0.1', port: Number(new URL(g.url).port), localAddress }
      const socket = name === 'HTTP/2' ? tls.connect({ ...target, ca, ALPNProtocols: ['h2'] }) : connect(target)
      socket.on('error', () => undefined)
      socket.on('close', () => closed++).resume()
      sockets.push(socket)
    }
    for (let i = 0; i < 8; i++) open('127.0.0.2')
    await waitUntil(() => closed === 5, 'connections beyond the limit to be refused')
    open('127.0.0.3')
    for (let i = 0; i < 5; i++) open('127.0.0.1')
    await pause(100)
    t.equal(closed, 5, 'another address has its own limit, and a proxy on this machine has none')
    t.match(await g.gateway.services.telemetry.metricsText(), 'svc_connections_refused_total{limit="address"} 5')
    sockets[sockets.length - 6]?.destroy()
    for (const socket of sockets.slice(0, 8)) socket.destroy()
    await waitUntil(() => closed === 9, 'the connections to close')
    // The server notices the ends in its own time.
    const isAdmitted = async (): Promise<boolean> => {
      const closedBefore = closed
      open('127.0.0.2')
      await pause(100)
      return closed === closedBefore
    }
    await waitUntil(isAdmitted, 'closed connections not to count')
  })
