/** Failures before the answer, as OpenAI's SDKs and as Codex receive them. */
import t from 'tap'
import { GatewayError, invalidRequest } from '../../../../src/errors.ts'
import { deriveNames } from '../../../../src/exchange/brand-names.ts'
import { toEnvelopeReply } from '../../../../src/exchange/envelope.ts'
import { responsesFormat } from '../../../../src/formats/responses/responses-format.ts'

const startedAt = 1_700_000_000_000

function render(failure: GatewayError, requestHeaders: Readonly<Record<string, string>>) {
  const x = {
    id: 'mbr_1',
    responseRequestId: 'client-1',
    names: deriveNames('svc'),
    siteUrl: 'https://site.example',
    debug: {},
    headers: {},
    startedAt,
    inbound: { headers: requestHeaders },
  }
  const { status, headers, body } = responsesFormat.toFailureReply(x, failure, toEnvelopeReply(x, failure))
  return { status, headers, body: JSON.parse(String(body)) as Record<string, unknown> }
}

const codex = { originator: 'codex_exec', 'x-codex-window-id': 'w:0' }

const reset = { 'x-svc-quota-reset': '1700010000' }
const usedUp = new GatewayError('quota_exceeded', {
  headers: reset,
  shouldRetry: false,
  message: {
    en: "Your included usage of premium models for today is used up. Resets in 3 hours. Switch to 'svc-2.1-fast': your usage of fast models covers it.",
    zh: '…',
  },
})

t.test('SDKs receive the usual statuses', async (t) => {
  for (const [failure, status, error] of [
    [new GatewayError('sign_in_required'), 401, { code: 'sign_in_required' }],
    [usedUp, 402, { code: 'quota_exceeded', type: 'insufficient_quota' }],
    [new GatewayError('rate_limited', { retryAfter: 5 }), 429, { code: 'rate_limited' }],
    [new GatewayError('official_models_only', { param: 'model' }), 400, { code: 'model_not_found', param: 'model' }],
    [
      new GatewayError('context_length_exceeded', { param: 'messages' }),
      400,
      { code: 'context_length_exceeded', param: 'input' },
    ],
    [
      invalidRequest({ en: 'no', zh: '不' }, 'max_completion_tokens'),
      400,
      { code: 'invalid_request', param: 'max_output_tokens' },
    ],
    [invalidRequest({ en: 'no', zh: '不' }, 'input[3].content'), 400, { param: 'input[3].content' }],
    [new GatewayError('payload_too_large'), 413, {}],
    [new GatewayError('upstream_error'), 502, { code: 'upstream_error' }],
    [new GatewayError('internal_error'), 500, { code: 'internal_error' }],
  ] as const) {
    const reply = render(failure, { 'user-agent': 'OpenAI/JS 7.57.0' })
    t.equal(reply.status, status, failure.code)
    t.match(reply.body, { error: { message: failure.message, ...error }, requestId: 'mbr_1', code: failure.code })
    t.match(reply.headers, { 'x-request-id': 'mbr_1', 'x-svc-error-code': failure.code })
  }
})

t.test('Codex receives a status that it does not repeat where nothing can succeed', async (t) => {
  for (const [failure, status, error] of [
    [new GatewayError('sign_in_required'), 400, { code: 'invalid_prompt' }],
    [new GatewayError('quota_exceeded'), 400, { code: 'invalid_prompt' }],
    [new GatewayError('payload_too_large'), 400, { code: 'invalid_prompt' }],
    [new GatewayError('not_found'), 400, { code: 'invalid_prompt' }],
    [new GatewayError('conflict'), 400, { code: 'invalid_prompt' }],
    [new GatewayError('content_filter'), 400, { code: 'invalid_prompt' }],
    [invalidRequest({ en: 'no', zh: '不' }, 'input[3]'), 400, { code: 'invalid_prompt', param: 'input[3]' }],
    [new GatewayError('official_models_only'), 400, { code: 'model_not_found' }],
    [new GatewayError('context_length_exceeded'), 400, { code: 'context_length_exceeded' }],
    [new GatewayError('upstream_not_configured'), 400, { code: 'invalid_prompt' }],
    [new GatewayError('upstream_model_unavailable'), 400, { code: 'invalid_prompt' }],
    [new GatewayError('upstream_error', { shouldRetry: false }), 400, { code: 'invalid_prompt' }],
    [new GatewayError('upstream_error'), 502, { code: 'upstream_error' }],
    [new GatewayError('temporarily_unavailable'), 503, { code: 'temporarily_unavailable' }],
    // The text of a 500 is not shown.
    [new GatewayError('internal_error'), 502, { code: 'internal_error' }],
  ] as const) {
    const reply = render(failure, codex)
    t.equal(reply.status, status, failure.code)
    t.match(reply.body, { error: { message: failure.message, ...error }, requestId: 'mbr_1', code: failure.code })
    t.match(reply.headers, { 'x-request-id': 'mbr_1', 'x-svc-error-code': failure.code })
  }
})

t.test('Codex shows an empty quota with the time of its reset', async (t) => {
  const { status, headers, body } = render(usedUp, codex)
  t.equal(status, 429)
  t.match(body, { error: { type: 'usage_limit_reached', resets_at: 1_700_010_000 } })
  t.match(headers, {
    'x-codex-promo-message':
      "Your included usage of premium models for today is used up. Switch to 'svc-2.1-fast': your usage of fast models covers it",
    'x-should-retry': 'false',
  })
})

t.test('Codex waits its own time for an upstream', async (t) => {
  const { status, headers } = render(new GatewayError('upstream_error', { retryAfter: 30 }), codex)
  t.equal(status, 502)
  t.notOk('retry-after' in headers)
  t.match(render(new GatewayError('upstream_error', { retryAfter: 30 }), {}).headers, { 'retry-after': '30' })
})

t.test('Codex waits for a limit of seconds, and receives the end of a longer one', async (t) => {
  t.match(render(new GatewayError('rate_limited', { retryAfter: 5.2 }), codex), { status: 429, headers: { 'retry-after': '6' } })
  t.match(render(new GatewayError('upstream_rate_limited'), codex), { status: 429, headers: { 'retry-after': '5' } })
  const long = render(new GatewayError('rate_limited', { retryAfter: 3600 }), codex)
  t.match(long, { status: 429, body: { error: { type: 'usage_limit_reached', resets_at: 1_700_003_600 } } })
})
