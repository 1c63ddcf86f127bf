/** The format of every failure. */
import t from 'tap'
import { errorCatalog, GatewayError } from '../../../src/errors.ts'
import type { ErrorCode } from '../../../src/errors.ts'
import { toEnvelopeFrames, toEnvelopeReply } from '../../../src/exchange/envelope.ts'
import { createTestExchange } from '../../support/gateway/test-exchange.ts'

t.test('has every field for each code, in both languages, and its headers', async (t) => {
  for (const code of Object.keys(errorCatalog) as ErrorCode[]) {
    const { status, headers, body } = toEnvelopeReply(
      createTestExchange(),
      new GatewayError(code, { params: { detail: { en: 'x', zh: '某' }, ids: 'svc' } }),
    )
    const envelope = JSON.parse(String(body)) as Record<string, unknown>
    t.equal(status, errorCatalog[code].status, code)
    t.same(Object.keys(envelope), ['ok', 'requestId', 'error', 'message', 'messageZh', 'code', 'stage', 'actions', 'debug'])
    t.match(envelope, { ok: false, requestId: 'mbr_01TEST', code, stage: errorCatalog[code].stage })
    t.same(envelope['error'], { message: envelope['message'], type: errorCatalog[code].type, code, param: null })
    t.match(String(envelope['messageZh']), /\p{Script=Han}/u)
    t.notMatch(JSON.stringify(envelope), /\{(detail|ids)\}/, 'leaves no placeholder')
    t.match(headers, {
      'x-request-id': 'mbr_01TEST',
      'x-svc-request-id': 'mbr_01TEST',
      'x-svc-error-code': code,
      'x-svc-error-stage': errorCatalog[code].stage,
      link: `<https://site.example/docs/errors#${code}>; rel="help"`,
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
    })
    t.equal(headers['www-authenticate'] !== undefined, status === 401, 'names the scheme on 401 and nowhere else')
  }
})

t.test('ends a stream with one line that contains the status', async (t) => {
  const failure = new GatewayError('upstream_error', { message: { en: 'a\nb\r\nc\u2028d', zh: '甲' } })
  const [frame = '', ...rest] = toEnvelopeFrames(createTestExchange(), failure).split('\n\n')
  t.same(rest, ['data: [DONE]', ''])
  t.notMatch(frame, /[\r\n]/)
  t.match(JSON.parse(frame.slice('data: '.length)), { ok: false, code: 'upstream_error', status: 502 })
})

t.test('rounds a wait up to whole seconds, at least one, and tells SDKs when retries are pointless', async (t) => {
  const headers = (details: object) => toEnvelopeReply(createTestExchange(), new GatewayError('rate_limited', details)).headers
  t.equal(headers({ retryAfter: 0.01 })['retry-after'], '1')
  t.equal(headers({ retryAfter: 2.1 })['retry-after'], '3')
  t.equal(headers({ shouldRetry: false })['x-should-retry'], 'false')
  t.equal(headers({})['retry-after'], undefined)
  t.equal(headers({})['x-should-retry'], undefined)
})

t.test('protects id, code and type against a failure’s own headers', async (t) => {
  const failure = new GatewayError('rate_limited', { headers: { 'x-request-id': 'forged', 'content-type': 'text/html' } })
  const { headers } = toEnvelopeReply(createTestExchange({ headers: { 'x-svc-error-code': 'forged' } }), failure)
  t.equal(headers['x-request-id'], 'mbr_01TEST')
  t.equal(headers['content-type'], 'application/json; charset=utf-8')
  t.equal(headers['x-svc-error-code'], 'rate_limited')
})
