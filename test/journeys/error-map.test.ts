/**
 * Every outcome of an upstream, streamed and not: what the caller is told, in every field. No cell may ever say that the caller is not
 * signed in, and each failure is refunded before it is told.
 */
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Script } from '../../src/upstream/demo/script.ts'
import type { Code } from '../../src/errors.ts'
import { checkEnvelope, envelopeOf } from '../support/envelope.ts'
import type { Envelope } from '../support/envelope.ts'
import { startGateway } from '../support/gateway.ts'
import type { Overrides, TestGateway } from '../support/gateway.ts'

const httpOf: Partial<Record<Code, number>> = {
  upstream_error: 502,
  upstream_rate_limited: 429,
  upstream_not_configured: 503,
  upstream_model_unavailable: 502,
  context_length_exceeded: 400,
  content_filter: 400,
  invalid_request: 400,
}

interface Row {
  readonly name: string
  readonly script: Script
  readonly code: Code
  /** The raw status that `debug` tells. */
  readonly raw: number | undefined
}

const status = (code: number, body?: unknown): Script => (body === undefined ? { status: code } : { status: code, body })
const rows: Row[] = [
  { name: '400', script: status(400), code: 'invalid_request', raw: 400 },
  { name: '401', script: status(401), code: 'upstream_not_configured', raw: 401 },
  { name: '402', script: status(402), code: 'upstream_not_configured', raw: 402 },
  { name: '403', script: status(403), code: 'upstream_not_configured', raw: 403 },
  { name: '404', script: status(404), code: 'upstream_not_configured', raw: 404 },
  {
    name: '404 of a model',
    script: status(404, { error: { message: 'The model x does not exist', code: 'model_not_found' } }),
    code: 'upstream_model_unavailable',
    raw: 404,
  },
  { name: '408', script: status(408), code: 'upstream_error', raw: 408 },
  { name: '413', script: status(413), code: 'context_length_exceeded', raw: 413 },
  { name: '422', script: status(422), code: 'invalid_request', raw: 422 },
  { name: '429', script: status(429), code: 'upstream_rate_limited', raw: 429 },
  {
    name: '429 for want of money',
    script: status(429, { error: { message: 'quota', type: 'insufficient_quota' } }),
    code: 'upstream_not_configured',
    raw: 429,
  },
  { name: '500', script: status(500), code: 'upstream_error', raw: 500 },
  { name: '502', script: status(502, '<html>Bad Gateway</html>'), code: 'upstream_error', raw: 502 },
  { name: '503', script: status(503), code: 'upstream_error', raw: 503 },
  { name: '504', script: status(504), code: 'upstream_error', raw: 504 },
  { name: '529', script: status(529), code: 'upstream_error', raw: 529 },
  {
    name: 'too long',
    script: status(400, { error: { message: 'maximum context length is 8192 tokens' } }),
    code: 'context_length_exceeded',
    raw: 400,
  },
  {
    name: 'filtered',
    script: status(400, { error: { message: 'no', code: 'content_filter' } }),
    code: 'content_filter',
    raw: 400,
  },
  { name: 'a redirect', script: { redirect: 'http://127.0.0.1:1/' }, code: 'upstream_not_configured', raw: 307 },
  { name: 'a web page', script: { html: true }, code: 'upstream_error', raw: 200 },
  { name: 'nothing in a 200', script: { empty: true }, code: 'upstream_error', raw: 200 },
  { name: 'text in a 200', script: { status: 200, body: 'hello' }, code: 'upstream_error', raw: 200 },
  { name: 'an error in a 200', script: { error: { at: 'whole' } }, code: 'upstream_error', raw: 200 },
  {
    name: 'an error that states its status',
    script: { error: { at: 'whole', value: { code: 429, message: 'slow' } } },
    code: 'upstream_rate_limited',
    raw: 429,
  },
  {
    name: 'an inner 401',
    script: { error: { at: 'whole', value: { code: 401, message: 'bad key' } } },
    code: 'upstream_not_configured',
    raw: 401,
  },
  { name: 'a compressed answer', script: { gzip: true }, code: 'upstream_error', raw: 200 },
  { name: 'a reset before the head', script: { reset: { afterBytes: 0 } }, code: 'upstream_error', raw: undefined },
  { name: 'a close before the head', script: { cut: { afterBytes: 0 } }, code: 'upstream_error', raw: undefined },
  { name: 'half a head', script: { cut: { afterBytes: 30 } }, code: 'upstream_error', raw: undefined },
  { name: 'no finish reason', script: { finish: null, tokens: 0 }, code: 'upstream_error', raw: 200 },
  { name: 'a finish of error', script: { finish: 'error', tokens: 0 }, code: 'upstream_error', raw: 200 },
]

async function cell(
  t: Parameters<typeof envelopeOf>[0],
  g: TestGateway,
  token: string,
  row: Row,
  stream: boolean,
): Promise<void> {
  const name = `${row.name}, ${stream ? 'streamed' : 'whole'}`
  g.demo.script(() => row.script)
  const response = await g.chat(token, { stream })
  let envelope: Envelope
  if (response.status === 200 && stream) {
    // The stream had begun: its last frame carries what a header cannot.
    const frames = (await response.text()).split('\n\n').filter((frame) => frame !== '')
    t.equal(frames.at(-1), 'data: [DONE]', name)
    envelope = JSON.parse(frames.at(-2)?.slice('data: '.length) ?? '') as Envelope
    checkEnvelope(t, envelope, name)
    t.equal(envelope.code, row.code, name)
  } else envelope = await envelopeOf(t, response, { status: httpOf[row.code] ?? 0, code: row.code }, name)
  t.not(envelope.code, 'sign_in_required', name)
  if (row.code.startsWith('upstream_')) t.equal(envelope.stage, 'upstream', name)
  t.match(envelope.debug, { productModel: 'svc-2.1', quotaRefunded: true }, name)
  t.equal(envelope.debug.upstreamStatus, row.raw, `${name}: raw status`)
  t.type(envelope.debug.latencyMs, 'number')
  t.notMatch(JSON.stringify(envelope), /demo-flagship/, `${name}: not the model behind the product`)
  if (row.code !== 'invalid_request')
    t.notMatch(JSON.stringify(envelope), /demonstration upstream/, `${name}: nothing of its words`)
  if ([429, 503].includes(response.status)) t.match(response.headers.get('retry-after'), /^\d+$/, `${name}: says when`)
  const [turn] = await g.turns()
  t.match(turn, { state: 'refunded', credits: 0, code: row.code, requestId: envelope.requestId }, `${name}: refunded`)
}

t.test('every outcome × streamed or not', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  for (const row of rows) {
    // Each row stands for itself: what others did to the breaker of its target is not its matter here.
    for (const stream of [false, true]) await cell(t, g, token, row, stream)
  }
  t.notMatch(g.log.join(''), /sign_in_required/)
})

t.test('upstreams that are not there', async (t) => {
  const closed = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => closed.once('listening', resolve))
  const { port } = closed.address() as AddressInfo
  await new Promise((resolve) => closed.close(resolve))
  const plain = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .resume()
      .end('HTTP/1.1 400 Bad Request\r\n\r\n')
  })
  plain.listen(0, '127.0.0.1')
  await new Promise((resolve) => plain.once('listening', resolve))
  t.teardown(() => void plain.close())
  const target = (baseUrl: string): Overrides => ({
    upstreams: { main: { baseUrl } },
    products: { 'svc-2.1': { targets: [{ upstream: 'main', model: 'm' }] } },
  })
  for (const [name, baseUrl, code, expected] of [
    ['refused', `http://127.0.0.1:${port}/v1`, 'upstream_error', 502],
    ['no such name', 'http://no-such-host.invalid/v1', 'upstream_not_configured', 503],
    ['no TLS there', `https://127.0.0.1:${(plain.address() as AddressInfo).port}/v1`, 'upstream_not_configured', 503],
  ] as const) {
    const g = await startGateway(t, { ...target(baseUrl), upstreams: { main: { baseUrl, allowPlaintext: true } } })
    const { token } = await g.member()
    for (const stream of [false, true]) {
      const envelope = await envelopeOf(t, await g.chat(token, { stream }), { status: expected, code, stage: 'upstream' }, name)
      t.match(envelope.debug, { quotaRefunded: true })
      t.equal(envelope.debug.upstreamStatus, undefined)
    }
    t.match(await g.turns(), [{ state: 'refunded' }, { state: 'refunded' }])
  }
})
