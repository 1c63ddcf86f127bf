/** The one shape of every failure. */
import t from 'tap'
import { catalogue, GatewayError } from '../../src/errors.ts'
import type { Code } from '../../src/errors.ts'
import { envelopeFrames, envelopeReply } from '../../src/exchange/envelope.ts'
import { anExchange } from '../support/exchange.ts'

t.test('each code of the catalogue has every field, in both languages, and its headers', async (t) => {
  for (const code of Object.keys(catalogue) as Code[]) {
    const { status, headers, body } = envelopeReply(
      anExchange(),
      new GatewayError(code, { params: { detail: { en: 'x', zh: '某' }, ids: 'svc' } }),
    )
    const envelope = JSON.parse(String(body)) as Record<string, unknown>
    t.equal(status, catalogue[code].status, code)
    t.same(Object.keys(envelope), ['ok', 'requestId', 'error', 'message', 'messageZh', 'code', 'stage', 'actions', 'debug'])
    t.match(envelope, { ok: false, requestId: 'mbr_01TEST', code, stage: catalogue[code].stage })
    t.same(envelope['error'], { message: envelope['message'], type: catalogue[code].type, code, param: null })
    t.match(String(envelope['messageZh']), /\p{Script=Han}/u)
    t.notMatch(JSON.stringify(envelope), /\{(detail|ids)\}/, 'no text is left unfilled')
    t.match(headers, {
      'x-request-id': 'mbr_01TEST',
      'x-svc-request-id': 'mbr_01TEST',
      'x-svc-error-code': code,
      'x-svc-error-stage': catalogue[code].stage,
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
    })
    t.equal(headers['www-authenticate'] !== undefined, status === 401, '401 names the scheme, nothing else does')
  }
})

t.test('a stream ends with it on one line, with the status that its own head could not say', async (t) => {
  const failure = new GatewayError('upstream_error', { message: { en: 'a\nb\r\nc\u2028d', zh: '甲' } })
  const [frame = '', ...rest] = envelopeFrames(anExchange(), failure).split('\n\n')
  t.same(rest, ['data: [DONE]', ''])
  t.notMatch(frame, /[\r\n]/)
  t.match(JSON.parse(frame.slice('data: '.length)), { ok: false, code: 'upstream_error', status: 502 })
})

t.test('a wait becomes whole seconds of at least one, and SDKs are told when trying again is pointless', async (t) => {
  const headers = (details: object) => envelopeReply(anExchange(), new GatewayError('rate_limited', details)).headers
  t.equal(headers({ retryAfter: 0.01 })['retry-after'], '1')
  t.equal(headers({ retryAfter: 2.1 })['retry-after'], '3')
  t.equal(headers({ shouldRetry: false })['x-should-retry'], 'false')
  t.equal(headers({})['retry-after'], undefined)
  t.equal(headers({})['x-should-retry'], undefined)
})

t.test('no header of a failure can take the place of its id, code or type', async (t) => {
  const failure = new GatewayError('rate_limited', { headers: { 'x-request-id': 'forged', 'content-type': 'text/html' } })
  const { headers } = envelopeReply(anExchange({ headers: { 'x-svc-error-code': 'forged' } }), failure)
  t.equal(headers['x-request-id'], 'mbr_01TEST')
  t.equal(headers['content-type'], 'application/json; charset=utf-8')
  t.equal(headers['x-svc-error-code'], 'rate_limited')
})
