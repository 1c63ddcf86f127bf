/** What the upstream did becomes what the caller is told; what others threw is left alone. */
import t from 'tap'
import { errorEnvelope } from '../../plugins/error-envelope.ts'
import { GatewayError } from '../../src/errors.ts'
import { toFailure } from '../../src/exchange/outcome.ts'
import { UpstreamFailure } from '../../src/exchange/upstream-failure.ts'
import { anExchange, fewServices } from '../support/exchange.ts'

const refusal = {
  kind: 'status',
  status: 401,
  contentType: 'application/json',
  retryAfter: null,
  body: '{"error":{"message":"bad key sk-secret"}}',
} as const

t.test('an upstream failure gets its code; an upstream 401 is never the caller’s', async (t) => {
  const { services } = fewServices({ config: { exposeUpstreamHost: true } })
  const x = anExchange()
  const failure = errorEnvelope.onFailure?.(x, new UpstreamFailure(refusal, 'api.example.com'), services)
  t.match(failure, { code: 'upstream_not_configured', status: 503 })
  t.equal(x.debug.upstreamHost, 'api.example.com')
})

t.test('the host stays hidden where the operator says so, or none was chosen', async (t) => {
  for (const [expose, host] of [
    [false, 'api.example.com'],
    [true, null],
  ] as const) {
    const x = anExchange()
    const { services } = fewServices({ config: { exposeUpstreamHost: expose } })
    errorEnvelope.onFailure?.(x, new UpstreamFailure(refusal, host), services)
    t.equal(x.debug.upstreamHost, undefined)
  }
})

t.test('a failure of another kind keeps its name', async (t) => {
  const { services } = fewServices({ config: { exposeUpstreamHost: true } })
  for (const thrown of [new GatewayError('quota_exceeded'), new TypeError('bug'), 'text']) {
    t.equal(errorEnvelope.onFailure?.(anExchange(), toFailure(thrown), services), undefined)
  }
})

t.test('an upstream’s own words about a request name neither the model behind the product nor its host', async (t) => {
  const { services } = fewServices({ config: { exposeUpstreamHost: true } })
  const x = anExchange({ attempted: { target: 'main/vendor/secret-7b', status: 400 } })
  const body = JSON.stringify({ error: { message: 'vendor/secret-7b at api.example.test does not take temperature 9' } })
  const facts = { kind: 'status', status: 400, contentType: 'application/json', retryAfter: null, body } as const
  const failure = errorEnvelope.onFailure?.(x, new UpstreamFailure(facts, 'api.example.test'), services)
  t.match(failure, { code: 'invalid_request', message: /does not take temperature 9/ })
  t.notMatch((failure as GatewayError).message, /secret-7b|api\.example/)
})

t.test('a wait that is a date becomes seconds', async (t) => {
  const { services, clock } = fewServices({ config: { exposeUpstreamHost: false } })
  const retryAfter = new Date(clock.time + 20_000).toUTCString()
  const facts = { kind: 'status', status: 429, contentType: '', retryAfter, body: '' } as const
  t.match(errorEnvelope.onFailure?.(anExchange(), new UpstreamFailure(facts), services), {
    details: { retryAfter: 20 },
  })
})
