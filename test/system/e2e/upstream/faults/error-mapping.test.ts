/**
 * Responses to a failing upstream, streamed and not. The matrix in `test/rules/upstream/errors/classify-failure.test.ts` covers the meaning of each
 * failure; here a real upstream produces each once, and every field is checked: none blames the caller's sign-in, none shows the upstream's
 * message, and each is refunded before the client receives it.
 */
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import type { Script } from '../../../../support/upstream/script.ts'
import type { ErrorCode } from '../../../../../src/errors.ts'
import { errorCatalog } from '../../../../../src/errors.ts'
import { checkErrorEnvelope, expectErrorEnvelope } from '../../../../support/gateway/error-envelope.ts'
import type { ErrorEnvelope } from '../../../../support/gateway/error-envelope.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import type { Overrides, TestGateway } from '../../../../support/gateway/test-gateway.ts'

const page = '<!DOCTYPE html><html><body>secret words</body></html>'
const createErrorBody = (message: string, code?: string) => ({ error: { message, code } })
const html = { 'content-type': 'text/html' }

/** What the upstream does, the resulting code, and the raw status in the envelope. */
const failureCases: readonly (readonly [string, Script, ErrorCode, number | undefined])[] = [
  ['a redirect', { redirect: 'http://127.0.0.1:1/' }, 'upstream_not_configured', 307],
  ['a plain 400', { status: 400 }, 'invalid_request', 400],
  ['too long', { status: 400, body: createErrorBody('secret words: prompt is too long') }, 'context_length_exceeded', 400],
  ['filtered', { status: 400, body: createErrorBody('secret words', 'content_filter') }, 'content_filter', 400],
  ['a page with 400', { status: 400, body: page, headers: html }, 'upstream_not_configured', 400],
  ['a bad key', { status: 401, body: createErrorBody('secret words') }, 'upstream_not_configured', 401],
  ['no such model', { status: 404, body: createErrorBody('secret words', 'model_not_found') }, 'upstream_model_unavailable', 404],
  ['throttled', { status: 429, body: createErrorBody('secret words') }, 'upstream_rate_limited', 429],
  ['no money', { status: 429, body: createErrorBody('secret words', 'insufficient_quota') }, 'upstream_not_configured', 429],
  ['text with 500', { status: 500, body: 'secret words' }, 'upstream_error', 500],
  ['an edge’s page', { status: 502, body: page, headers: html }, 'upstream_error', 502],
  ['overloaded', { status: 503, body: createErrorBody('secret words') }, 'upstream_error', 503],
  ['nothing with 504', { status: 504, body: '' }, 'upstream_error', 504],
  ['a status of no standard', { status: 529, body: createErrorBody('secret words') }, 'upstream_error', 529],
  ['a page in a 200', { html: true }, 'upstream_error', 200],
  ['nothing in a 200', { empty: true }, 'upstream_error', 200],
  ['text in a 200', { status: 200, body: 'secret words' }, 'upstream_error', 200],
  ['a compressed answer', { gzip: true }, 'upstream_error', 200],
  ['an error in a 200', { error: { at: 'whole', value: { message: 'secret words' } } }, 'upstream_error', 200],
  ['an inner 401', { error: { at: 'whole', value: { message: 'secret words', code: 401 } } }, 'upstream_not_configured', 401],
  ['an inner 429', { error: { at: 'whole', value: { message: 'slow', code: 429 } } }, 'upstream_rate_limited', 429],
  ['an error first', { error: { at: 'first', value: { message: 'secret words' } } }, 'upstream_error', 200],
  ['a 401 first', { error: { at: 'first', value: { message: 'secret words', code: 401 } } }, 'upstream_not_configured', 401],
  ['a 429 last', { error: { at: 'last', value: { message: 'secret words', code: '429' } } }, 'upstream_rate_limited', 429],
  ['a 502 in a choice', { error: { at: 'choice', value: { message: 'secret words', code: 502 } } }, 'upstream_error', 502],
  ['no finish reason', { finish: null }, 'upstream_error', 200],
  ['no finish reason, and no word', { finish: null, tokens: 0 }, 'upstream_error', 200],
  ['a finish of error', { finish: 'error' }, 'upstream_error', 200],
  ['a finish of error, and no word', { finish: 'error', tokens: 0 }, 'upstream_error', 200],
  ['a finish for want of room', { finish: 'insufficient_system_resource' }, 'upstream_error', 200],
  ['a reset before the head', { reset: { afterBytes: 0 } }, 'upstream_error', undefined],
  ['a close before the head', { cut: { afterBytes: 0 } }, 'upstream_error', undefined],
  ['half a head', { cut: { afterBytes: 30 } }, 'upstream_error', undefined],
]

async function checkFailure(
  t: Test,
  g: TestGateway,
  token: string,
  [way, script, code, raw]: (typeof failureCases)[number],
  stream: boolean,
) {
  const name = `${way}, ${stream ? 'streamed' : 'whole'}`
  const { status, stage, type, zh } = errorCatalog[code]
  g.demo.script(() => script)
  const response = await g.chat(token, { stream })
  let envelope: ErrorEnvelope
  if (response.status === 200 && stream) {
    // The stream had begun: its last frame carries what a header cannot.
    const frames = (await response.text()).split('\n\n').filter((frame) => frame !== '')
    t.equal(frames.at(-1), 'data: [DONE]', name)
    envelope = JSON.parse(frames.at(-2)?.slice('data: '.length) ?? '') as ErrorEnvelope
    checkErrorEnvelope(t, envelope, name)
    t.equal(envelope.code, code, name)
  } else envelope = await expectErrorEnvelope(t, response, { status, code }, name)
  t.match(envelope, { stage, error: { type }, debug: { productModel: 'svc-2.1', quotaRefunded: true, latencyMs: Number } }, name)
  t.equal(envelope.debug.upstreamStatus, raw, `${name}: raw status`)
  if (code !== 'invalid_request') {
    t.equal(envelope.messageZh, zh, name)
    t.notMatch(JSON.stringify(envelope), /secret words|demonstration upstream/, `${name}: nothing of its words`)
  }
  t.notMatch(JSON.stringify(envelope), /demo-flagship/, `${name}: not the model behind the product`)
  if ([429, 503].includes(response.status)) t.match(response.headers.get('retry-after'), /^\d+$/, `${name}: says when`)
  const [turn] = await g.listTurns()
  t.match(turn, { state: 'refunded', credits: 0, code, requestId: envelope.requestId }, `${name}: refunded`)
}

t.test('maps every kind of failure, streamed and not', async (t) => {
  // The one target of a product is asked whatever its breaker says, so no row decides another.
  const g = await startGateway(t)
  const { token } = await g.createMember()
  for (const way of failureCases) for (const stream of [false, true]) await checkFailure(t, g, token, way, stream)
  t.notMatch(g.log.join(''), /sign_in_required/)
})

t.test('maps upstreams that cannot be reached', async (t) => {
  const plain = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .resume()
      .end('HTTP/1.1 400 Bad Request\r\n\r\n')
  })
  plain.listen(0, '127.0.0.1')
  await new Promise((resolve) => plain.once('listening', resolve))
  t.teardown(() => void plain.close())
  const nowhere = {
    refused: ['http://127.0.0.1:9/v1', 'upstream_error', 502],
    unnamed: ['http://no-such-host.invalid/v1', 'upstream_not_configured', 503],
    plain: [`https://127.0.0.1:${(plain.address() as AddressInfo).port}/v1`, 'upstream_not_configured', 503],
  } as const
  const products = { refused: 'svc', unnamed: 'svc-2.1', plain: 'svc-2.1-pro' } as const
  const names = ['refused', 'unnamed', 'plain'] as const
  const g = await startGateway(t, {
    upstreams: Object.fromEntries(names.map((name) => [name, { baseUrl: nowhere[name][0], allowPlaintext: true }])),
    products: Object.fromEntries(names.map((name) => [products[name], { targets: [{ upstream: name, model: 'm' }] }])),
  } as Overrides)
  const { token } = await g.createMember()
  for (const name of names) {
    const [, code, status] = nowhere[name]
    for (const stream of [false, true]) {
      const response = await g.chat(token, { stream, model: products[name] })
      const envelope = await expectErrorEnvelope(t, response, { status, code, stage: 'upstream' }, name)
      t.match(envelope.debug, { quotaRefunded: true })
      t.equal(envelope.debug.upstreamStatus, undefined)
      t.match((await g.listTurns())[0], { state: 'refunded', requestId: envelope.requestId }, name)
    }
  }
})

t.test('passes a plain validation error on in the upstream\u2019s words, without its model, address or key', async (t) => {
  const { createMember, chat, demo } = await startGateway(t)
  const { token } = await createMember('max')
  demo.script((call) => {
    const { model } = JSON.parse(call.rawBody) as { model: string }
    const message = `'temperature' is not supported with ${model} at http://127.0.0.1:${demo.port}, key sk-abcdefgh12345678`
    return { status: 400, body: { error: { message, param: 'temperature' } } }
  })
  const told = JSON.parse(await (await chat(token)).text()) as ErrorEnvelope
  t.equal(told.code, 'invalid_request')
  t.equal(told.error.param, 'temperature')
  t.match(told.message, /^The request is not valid: 'temperature' is not supported with … at …,? key …$/)
  t.match(told.debug, { quotaRefunded: true, upstreamStatus: 400 })
})
