/** Requests that are refused before their body was read: a client that first writes everything and then reads receives the envelope. */
import { once } from 'node:events'
import http2 from 'node:http2'
import { connect } from 'node:net'
import t from 'tap'
import { createTemporaryFolder, startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'
import { writeThenRead } from '../../../support/write-then-read.ts'
import { createSelfSignedCertificate } from '../../../support/servers/tls-certificate.ts'

const megabyte = 1024 * 1024
const body = JSON.stringify({ model: 'svc', messages: [{ role: 'user', content: 'A'.repeat(9 * megabyte) }] })
const tooLarge = JSON.stringify({ model: 'svc', messages: [{ role: 'user', content: 'A'.repeat(11 * megabyte) }] })

interface Refusal {
  readonly title: string
  readonly status: number
  readonly code: string
  readonly path?: string
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Every place from which a request is refused: the address limit, the router, a route, the plugin chain, the body reader. */
async function createRefusals(g: TestGateway, useUp: (token: string) => Promise<unknown>): Promise<readonly Refusal[]> {
  const { token } = await g.createMember()
  const limited = await g.createMember('slow')
  await useUp(limited.token)
  const poor = await g.createMember('poor')
  return [
    { title: 'a bad key', status: 401, code: 'sign_in_required', token: 'svc_live_made_up' },
    { title: 'no credits', status: 402, code: 'quota_exceeded', token: poor.token },
    {
      title: 'another origin',
      status: 403,
      code: 'forbidden_origin',
      path: '/api/membership/auth/device/start',
      headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    },
    { title: 'an unknown path', status: 404, code: 'not_found', path: '/v1/nothing', token },
    { title: 'another method', status: 405, code: 'method_not_allowed', path: '/v1/models', token },
    { title: 'a body that is too large', status: 413, code: 'payload_too_large', token, body: tooLarge },
    {
      title: 'another media type',
      status: 415,
      code: 'unsupported_media_type',
      token,
      headers: { 'content-type': 'text/plain' },
    },
    { title: 'a rate limit', status: 429, code: 'rate_limited', token: limited.token },
  ]
}

const empty = { day: 0, week: 0, month: 0 }
const plan = { name: 'Test', prices: [{ amount: 0 }], concurrency: 100 }
const plans = {
  slow: { ...plan, rpm: 1, pools: { fast: { day: 1e9, week: 1e9, month: 1e9 }, premium: { day: 1e9, week: 1e9, month: 1e9 } } },
  poor: { ...plan, rpm: 1_000, pools: { fast: empty, premium: empty } },
}

t.test('a client that writes its whole body before it reads receives the envelope', async (t) => {
  const g = await startGateway(t, { plans })
  for (const refusal of await createRefusals(g, async (token) => (await g.chat(token)).text())) {
    for (const shape of refusal.status === 401 ? (['1.1', '1.0', 'chunked'] as const) : (['1.1'] as const)) {
      const { failure, text } = await writeThenRead(g.url, createRequest(refusal, shape))
      t.equal(failure, null, `${refusal.title}, ${shape}: the body is written`)
      t.match(text, new RegExp(`^HTTP/1\\.1 ${refusal.status} `), `${refusal.title}, ${shape}: the status arrives`)
      t.match(text, `"${refusal.code}"`, `${refusal.title}, ${shape}: the envelope arrives`)
    }
  }
  t.equal(g.services.bodyDiscarder.running, 0)
})

t.test('a refusal by address, and one of a malformed request, waits for the body too', async (t) => {
  const g = await startGateway(t, { limits: { addressRpm: 1 } })
  await (await fetch(`${g.url}/v1/models`)).arrayBuffer()
  const limited = await writeThenRead(
    g.url,
    createRequest({ title: '', status: 429, code: '', token: 'svc_live_made_up' }, '1.1'),
  )
  t.same(limited.failure, null)
  t.match(limited.text, /^HTTP\/1\.1 429 [^]*"rate_limited"/)
  const twoHosts = createRequest({ title: '', status: 400, code: '', headers: { Host: 'other.example' } }, '1.1')
  const malformed = await writeThenRead(g.url, twoHosts)
  t.same(malformed.failure, null)
  t.match(malformed.text, /^HTTP\/1\.1 400 [^]*"invalid_request"/)
})

t.test('an HTTP/2 client receives the envelope and uses the session further', async (t) => {
  const { cert, key, ca } = createSelfSignedCertificate(createTemporaryFolder(t))
  const g = await startGateway(t, { plans, listen: { tls: { cert, key } } })
  const session = http2.connect(g.url, { ca, maxSessionMemory: 100 })
  t.teardown(() => session.destroy())
  const useUp = async (token: string): Promise<void> => {
    const refusal = { title: '', status: 200, code: '', token }
    const stream = session.request({ ':method': 'POST', ':path': chat, ...headersOf(refusal) })
    stream.end(JSON.stringify({ model: 'svc-2.1', messages: [{ role: 'user', content: 'Hello!' }] }))
    await once(stream.resume(), 'end')
  }
  for (const refusal of await createRefusals(g, useUp)) {
    const stream = session.request({ ':method': 'POST', ':path': refusal.path ?? chat, ...headersOf(refusal) })
    const written = new Promise<void>((resolve, reject) => {
      stream.on('error', reject)
      stream.end(refusal.body ?? body, resolve)
    })
    const [head] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders & { ':status': number }]
    t.equal(head[':status'], refusal.status, `${refusal.title}: the status arrives`)
    let text = ''
    for await (const chunk of stream as AsyncIterable<Buffer>) text += chunk.toString()
    t.match(text, `"${refusal.code}"`, `${refusal.title}: the envelope arrives`)
    await written
    t.equal(stream.rstCode, 0, `${refusal.title}: the stream ends in order`)
  }
  t.notOk(session.closed)
})

t.test('serves a member while 40 clients send large bodies with a bad key', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  const request = createRequest({ title: '', status: 401, code: '', token: 'svc_live_made_up' }, '1.1')
  const refused = Promise.all(Array.from({ length: 40 }, () => writeThenRead(g.url, request)))
  const statuses: number[] = []
  for (let isOver = false; !isOver || statuses.length < 5;) {
    const response = await g.chat(token)
    await response.arrayBuffer()
    statuses.push(response.status)
    isOver = await Promise.race([refused.then(() => true), new Promise<false>((resolve) => setImmediate(resolve, false))])
  }
  t.same(
    statuses.filter((status) => status !== 200),
    [],
    `${statuses.length} turns`,
  )
  t.same(
    (await refused).filter(({ text }) => !text.startsWith('HTTP/1.1 401 ')),
    [],
  )
})

t.test('a shutdown whose time ends answers bodies that still arrive, of a bad key and of a good one', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  const clients = await Promise.all(['svc_live_made_up', token].map((token) => sendHalf(g, token)))
  await g.gateway.close({ drainMs: 300 })
  const [refused = '', restarting = ''] = await Promise.all(clients.map((readAll) => readAll()))
  t.match(refused, /^HTTP\/1\.1 401 [^]*connection: close[^]*"sign_in_required"/i)
  t.match(restarting, /^HTTP\/1\.1 500 [^]*connection: close[^]*The service is restarting/i)
  t.equal(g.demo.stats().requests, 0, 'no turn was begun')
})

t.test('the same over HTTP/2', async (t) => {
  const { cert, key, ca } = createSelfSignedCertificate(createTemporaryFolder(t))
  const g = await startGateway(t, { listen: { tls: { cert, key } } })
  const { token } = await g.createMember()
  const session = http2.connect(g.url, { ca })
  t.teardown(() => session.destroy())
  const streams = ['svc_live_made_up', token].map((token) => {
    const headers = headersOf({ title: '', status: 0, code: '', token, headers: { expect: '100-continue' } })
    return session.request({ ':method': 'POST', ':path': chat, ...headers, 'content-length': body.length })
  })
  await Promise.all(streams.map((stream) => once(stream, 'continue')))
  for (const stream of streams) stream.write(body.slice(0, 1_000))
  const answers = streams.map(async (stream) => {
    let text = ''
    stream.on('response', (head) => (text += `${head[':status']} `))
    // From the start, because Node drops what nothing reads when a stream closes.
    stream.on('data', (chunk) => (text += chunk.toString()))
    await once(stream, 'close')
    return text
  })
  await g.gateway.close({ drainMs: 300 })
  const [refused, restarting] = await Promise.all(answers)
  t.match(refused, /^401 [^]*"sign_in_required"/)
  t.match(restarting, /^500 [^]*The service is restarting/)
  t.equal(g.demo.stats().requests, 0, 'no turn was begun')
})

/** Sends half of a body, after the server has begun to wait for it. The result reads until the connection ends. */
async function sendHalf(g: TestGateway, token: string): Promise<() => Promise<string>> {
  const request = createRequest({ title: '', status: 0, code: '', token, headers: { expect: '100-continue' } }, '1.1')
  const [head = '', content = ''] = request.split('\r\n\r\n')
  const { hostname, port } = new URL(g.url)
  const socket = connect({ host: hostname, port: Number(port) })
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString()))
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.on('error', (error) => (text += error.message))
  socket.write(`${head}\r\n\r\n`)
  await waitUntil(() => text.startsWith('HTTP/1.1 100 '), 'the server to wait for the body')
  text = ''
  socket.write(content.slice(0, content.length / 2))
  return async () => {
    await closed
    return text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '')
  }
}

const chat = '/v1/chat/completions'

function headersOf({ token, headers }: Refusal): Record<string, string> {
  return { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), 'content-type': 'application/json', ...headers }
}

/** `1.0` closes the connection after the response, as nginx requests by default. */
function createRequest(refusal: Refusal, shape: '1.0' | '1.1' | 'chunked'): string {
  const content = refusal.body ?? body
  const framing = shape === 'chunked' ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(content.length) }
  const lines = Object.entries({ host: 'here', ...headersOf(refusal), ...framing }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  const framed = shape === 'chunked' ? `${content.length.toString(16)}\r\n${content}\r\n0\r\n\r\n` : content
  return `POST ${refusal.path ?? chat} HTTP/${shape === '1.0' ? '1.0' : '1.1'}\r\n${lines.join('')}\r\n${framed}`
}
