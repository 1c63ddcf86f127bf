/** Failures before the answer, as Anthropic's SDKs and Claude Code receive them. */
import t from 'tap'
import { GatewayError, invalidRequest } from '../../../../src/errors.ts'
import { deriveNames } from '../../../../src/exchange/brand-names.ts'
import { toEnvelopeReply } from '../../../../src/exchange/envelope.ts'
import type { FailedExchange } from '../../../../src/exchange/exchange.ts'
import { messagesFormat } from '../../../../src/formats/messages/messages-format.ts'

function render(failure: GatewayError, slots: Pick<FailedExchange, 'product' | 'hold'> = {}) {
  const x = {
    id: 'mbr_1',
    responseRequestId: 'client-1',
    names: deriveNames('svc'),
    siteUrl: 'https://site.example',
    debug: { quotaRefunded: true },
    headers: {},
    startedAt: 1_700_000_000_000,
    inbound: { headers: {} },
    ...slots,
  }
  const { status, headers, body } = messagesFormat.toFailureReply(x, failure, toEnvelopeReply(x, failure))
  return { status, headers, body: JSON.parse(String(body)) as { error: { message: string } } }
}

t.test('renders each failure with its type, and whether a repeated request can succeed', async (t) => {
  const invalid = invalidRequest({ en: 'no', zh: '不' }, 'stop')
  for (const [failure, status, type, retries] of [
    [new GatewayError('sign_in_required'), 401, 'authentication_error', false],
    [new GatewayError('quota_exceeded', { shouldRetry: false }), 402, 'billing_error', false],
    [new GatewayError('rate_limited', { retryAfter: 5 }), 429, 'rate_limit_error', true],
    [new GatewayError('rate_limited', { retryAfter: 90, shouldRetry: false }), 429, 'rate_limit_error', false],
    [new GatewayError('rate_limited', { shouldRetry: true, actions: ['upgrade_plan'] }), 429, 'rate_limit_error', true],
    [new GatewayError('upstream_rate_limited'), 429, 'rate_limit_error', true],
    [new GatewayError('official_models_only', { param: 'model' }), 404, 'not_found_error', false],
    [invalid, 400, 'invalid_request_error', false],
    [new GatewayError('content_filter'), 400, 'invalid_request_error', false],
    [new GatewayError('context_length_exceeded'), 400, 'invalid_request_error', false],
    [new GatewayError('not_found'), 404, 'not_found_error', false],
    [new GatewayError('method_not_allowed'), 405, 'invalid_request_error', false],
    [new GatewayError('payload_too_large'), 413, 'request_too_large', false],
    [new GatewayError('unsupported_media_type'), 415, 'invalid_request_error', false],
    [new GatewayError('forbidden_origin'), 403, 'permission_error', false],
    [new GatewayError('conflict'), 409, 'conflict_error', false],
    [new GatewayError('upstream_error'), 502, 'api_error', true],
    [new GatewayError('upstream_model_unavailable'), 502, 'api_error', false],
    [new GatewayError('upstream_not_configured'), 503, 'api_error', false],
    [new GatewayError('temporarily_unavailable'), 503, 'overloaded_error', true],
    [new GatewayError('internal_error'), 500, 'api_error', true],
  ] as const) {
    const reply = render(failure)
    t.equal(reply.status, status, failure.code)
    t.equal(reply.headers['x-should-retry'] !== 'false', retries, `${failure.code} retries`)
    t.match(reply.headers, { 'request-id': 'mbr_1', 'x-request-id': 'mbr_1', 'x-svc-error-code': failure.code }, failure.code)
    t.match(
      reply.body,
      {
        type: 'error',
        error: { type, message: failure.message, code: failure.code },
        request_id: 'mbr_1',
        ok: false,
        code: failure.code,
        debug: { quotaRefunded: true },
      },
      failure.code,
    )
  }
  t.match(render(invalid).body, { error: { param: 'stop_sequences' } })
  t.match(render(invalidRequest({ en: 'no', zh: '不' }, 'messages[3].content')).body, { error: { param: 'messages[3].content' } })
})

t.test('words the refusal of a long conversation so that Claude Code shortens it', async (t) => {
  const failure = new GatewayError('context_length_exceeded', { param: 'messages' })
  const product = { contextLength: 128_000 } as NonNullable<FailedExchange['product']>
  const hold = { inputEstimate: 210_000 } as NonNullable<FailedExchange['hold']>
  for (const [slots, message] of [
    [{ product, hold }, 'prompt is too long: 210000 tokens > 128000 maximum'],
    // The estimate was too low, or the target accepts less than the product.
    [{ product, hold: { ...hold, inputEstimate: 90_000 } }, 'prompt is too long: 128001 tokens > 128000 maximum'],
    [{ product }, 'prompt is too long: 128001 tokens > 128000 maximum'],
    [{}, failure.message],
  ] as const)
    t.equal(render(failure, slots).body.error.message, message)
})
