/** Converts upstream failures for the client; other errors stay unchanged. */
import t from 'tap'
import { errorEnvelope } from '../../../plugins/error-envelope.ts'
import { GatewayError } from '../../../src/errors.ts'
import { toFailure } from '../../../src/exchange/exchange.ts'
import { UpstreamFailure } from '../../../src/exchange/upstream-failure.ts'
import { createTestExchange, createTestServices } from '../../support/gateway/test-exchange.ts'

const refusal = {
  kind: 'status',
  status: 401,
  contentType: 'application/json',
  retryAfter: null,
  body: '{"error":{"message":"bad key sk-secret"}}',
} as const

t.test('maps an upstream failure to its code, and never an upstream 401 to the client’s', async (t) => {
  const { services } = createTestServices({ config: { exposeUpstreamHost: true } })
  const x = createTestExchange()
  const failure = errorEnvelope.onFailure?.(x, new UpstreamFailure(refusal, 'api.example.com'), services)
  t.match(failure, { code: 'upstream_not_configured', status: 503 })
  t.equal(x.debug.upstreamHost, 'api.example.com')
})

t.test('hides the host if the operator says so, or if none was chosen', async (t) => {
  for (const [expose, host] of [
    [false, 'api.example.com'],
    [true, null],
  ] as const) {
    const x = createTestExchange()
    const { services } = createTestServices({ config: { exposeUpstreamHost: expose } })
    errorEnvelope.onFailure?.(x, new UpstreamFailure(refusal, host), services)
    t.equal(x.debug.upstreamHost, undefined)
  }
})

t.test('keeps a failure of another kind', async (t) => {
  const { services } = createTestServices({ config: { exposeUpstreamHost: true } })
  for (const thrown of [new GatewayError('quota_exceeded'), new TypeError('bug'), 'text']) {
    t.equal(errorEnvelope.onFailure?.(createTestExchange(), toFailure(thrown), services), undefined)
  }
})

t.test('removes the model behind the product and its host from an upstream’s message', async (t) => {
  const { services } = createTestServices({ config: { exposeUpstreamHost: true } })
  const x = createTestExchange({ lastAttempt: { target: 'main/vendor/secret-7b', status: 400 } })
  const body = JSON.stringify({ error: { message: 'vendor/secret-7b at api.example.test does not take temperature 9' } })
  const facts = { kind: 'status', status: 400, contentType: 'application/json', retryAfter: null, body } as const
  const failure = errorEnvelope.onFailure?.(x, new UpstreamFailure(facts, 'api.example.test'), services)
  t.match(failure, { code: 'invalid_request', message: /does not take temperature 9/ })
  t.notMatch((failure as GatewayError).message, /secret-7b|api\.example/)
})

t.test('converts a wait given as a date to seconds', async (t) => {
  const { services, clock } = createTestServices({ config: { exposeUpstreamHost: false } })
  const retryAfter = new Date(clock.time + 20_000).toUTCString()
  const facts = { kind: 'status', status: 429, contentType: '', retryAfter, body: '' } as const
  t.match(errorEnvelope.onFailure?.(createTestExchange(), new UpstreamFailure(facts), services), {
    details: { retryAfter: 20 },
  })
})
