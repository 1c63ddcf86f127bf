/** What each failure of an upstream means for the client, for other targets and for the breaker. */
import * as fc from 'fast-check'
import t from 'tap'
import type { ErrorCode } from '../../../../src/errors.ts'
import { GatewayError, errorCatalog } from '../../../../src/errors.ts'
import { UpstreamFailure } from '../../../../src/exchange/upstream-failure.ts'
import type { FailureFacts } from '../../../../src/exchange/upstream-failure.ts'
import { countsAgainstBreaker, isSafeToRetry } from '../../../../src/upstream/errors/retry-policy.ts'
import { classifyFailure } from '../../../../src/upstream/errors/classify-failure.ts'

type Facts<K extends FailureFacts['kind']> = Extract<FailureFacts, { kind: K }>

function status(code: number, body: unknown = '', more: Partial<Facts<'status'>> = {}): FailureFacts {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const contentType = typeof body === 'string' ? 'text/plain' : 'application/json'
  return { kind: 'status', status: code, contentType, retryAfter: null, body: text, ...more }
}

function inBand(error?: unknown, reason: Facts<'in_band'>['reason'] = 'error_object'): FailureFacts {
  return error === undefined ? { kind: 'in_band', status: 200, reason } : { kind: 'in_band', status: 200, reason, error }
}

const network = (code: string): FailureFacts => ({ kind: 'network', code })
const timeout = (phase: Facts<'timeout'>['phase']): FailureFacts => ({ kind: 'timeout', phase })

const page = '<!DOCTYPE html><html><head><title>Error</title></head><body>nginx</body></html>'
const html = (code: number, body = page): FailureFacts => status(code, body, { contentType: 'text/html; charset=utf-8' })

const openai = (message: string, type: string, code: string | null = null, param: string | null = null) => ({
  error: { message, type, param, code },
})
const deepseek = (message: string, type = 'invalid_request_error') => openai(message, type, 'invalid_request_error')
const openrouter = (code: number, message: string, metadata: object = {}) => ({
  error: { code, message, metadata },
  user_id: 'user_2x',
})
const vllm = (message: string, type: string, code: number) => ({ error: { message, type, param: null, code } })
const oldVllm = (message: string, type: string, code: number) => ({ object: 'error', message, type, param: null, code })
const ollama = (message: string, type: string) => openai(message, type)
const azure = (code: string, message: string, inner?: string) => ({
  error: { code, message, param: null, type: null, ...(inner === undefined ? {} : { innererror: { code: inner } }) },
})
const anthropic = (type: string, message: string) => ({
  type: 'error',
  error: { type, message },
  request_id: 'req_011CSHoEeqs5C35K2UUqR7Fy',
})

const cases: readonly (readonly [string, FailureFacts, ErrorCode])[] = [
  ['1: nothing configured', { kind: 'unconfigured', reason: 'no target for svc-2.1' }, 'upstream_not_configured'],

  ...[
    'ENOTFOUND',
    'EAI_AGAIN',
    'CERT_HAS_EXPIRED',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'ERR_TLS_CERT_ALTNAME_INVALID',
  ].map((code) => [`2: ${code}`, network(code), 'upstream_not_configured'] as const),
  ...[301, 302, 303, 307, 308].map((code) => [`2: redirect ${code}`, status(code), 'upstream_not_configured'] as const),

  ...[
    'ECONNREFUSED',
    'ECONNRESET',
    'EPIPE',
    'ETIMEDOUT',
    'UND_ERR_SOCKET',
    'UND_ERR_CONNECT_TIMEOUT',
    'HPE_INVALID_CONSTANT',
    'E_NEW',
  ].map((code) => [`3: ${code}`, network(code), 'upstream_error'] as const),
  ...(['connect', 'first_byte', 'idle', 'total'] as const).map(
    (phase) => [`3: timeout ${phase}`, timeout(phase), 'upstream_error'] as const,
  ),
  ...[408, 504, 520, 521, 522, 523, 524, 525, 526, 527].map(
    (code) => [`3: status ${code}`, status(code), 'upstream_error'] as const,
  ),
  ...[502, 503, 504, 520, 524].map((code) => [`3, 13: an edge's page with ${code}`, html(code), 'upstream_error'] as const),

  [
    '4: OpenAI, bad key',
    status(401, openai('Incorrect API key provided: sk-ab***yz.', 'invalid_request_error', 'invalid_api_key')),
    'upstream_not_configured',
  ],
  ['4: DeepSeek, bad key', status(401, deepseek('Authentication Fails', 'authentication_error')), 'upstream_not_configured'],
  ['4: OpenRouter, bad key', status(401, openrouter(401, 'No auth credentials found')), 'upstream_not_configured'],
  ['4: vLLM, bad key', status(401, { error: 'Unauthorized' }), 'upstream_not_configured'],
  ['4: Azure, bad key', status(401, azure('401', 'Access denied due to invalid subscription key.')), 'upstream_not_configured'],
  ['4: Anthropic, bad key', status(401, anthropic('authentication_error', 'invalid x-api-key')), 'upstream_not_configured'],
  [
    '4: Google, bad key with 400, in an array',
    status(400, [
      { error: { code: 400, message: 'API key not valid. Please pass a valid API key.', status: 'INVALID_ARGUMENT' } },
    ]),
    'upstream_not_configured',
  ],
  ['4: a page with 401', html(401), 'upstream_not_configured'],
  ['4: an empty 401', status(401), 'upstream_not_configured'],
  ['4: 407', status(407), 'upstream_not_configured'],

  [
    '5: OpenAI, no money',
    status(429, openai('You exceeded your current quota', 'insufficient_quota', 'insufficient_quota')),
    'upstream_not_configured',
  ],
  ...[
    'credit_balance_exhausted',
    'organization_spend_limit_exceeded',
    'project_spend_limit_exceeded',
    'organization_usage_limit_exceeded',
  ].map((code) => [`5: OpenAI, ${code}`, status(429, openai('No.', 'requests', code)), 'upstream_not_configured'] as const),
  [
    '5: DeepSeek, no money',
    status(402, openai('Insufficient Balance', 'unknown_error', 'invalid_request_error')),
    'upstream_not_configured',
  ],
  [
    '5: OpenRouter, no money',
    status(402, openrouter(402, 'This request requires more credits', { error_type: 'payment_required' })),
    'upstream_not_configured',
  ],
  [
    '5: OpenRouter, a budget in flight',
    status(402, openrouter(402, 'In-flight budget'), { retryAfter: '3' }),
    'upstream_rate_limited',
  ],
  ['5: Azure, no quota', status(429, azure('insufficient_quota', 'Quota exceeded')), 'upstream_not_configured'],
  [
    '5: Anthropic, billing',
    status(402, anthropic('billing_error', 'There is an issue with your billing')),
    'upstream_not_configured',
  ],
  [
    '5: Anthropic, low credit with 400',
    status(400, anthropic('invalid_request_error', 'Your credit balance is too low to access the API.')),
    'upstream_not_configured',
  ],
  [
    '5: Anthropic, spend limit with 400',
    status(400, anthropic('invalid_request_error', 'You have reached your specified API usage limits.')),
    'upstream_not_configured',
  ],
  [
    '5: Anthropic, enforced spend limit',
    status(429, anthropic('enforced_spend_limit_reached', 'Spend limit')),
    'upstream_not_configured',
  ],

  [
    '6: OpenAI, too long',
    status(
      400,
      openai(
        "This model's maximum context length is 8192 tokens.",
        'invalid_request_error',
        'context_length_exceeded',
        'messages',
      ),
    ),
    'context_length_exceeded',
  ],
  [
    '6: OpenAI, too long by code alone',
    status(400, openai('No.', 'invalid_request_error', 'context_length_exceeded')),
    'context_length_exceeded',
  ],
  [
    '6: DeepSeek, too long',
    status(400, deepseek("This model's maximum context length is 65536 tokens.")),
    'context_length_exceeded',
  ],
  [
    '6: OpenRouter, too long',
    status(
      400,
      openrouter(400, "This endpoint's maximum context length is 32768 tokens.", { error_type: 'context_length_exceeded' }),
    ),
    'context_length_exceeded',
  ],
  [
    "6: OpenRouter, a provider's words passed on",
    status(
      400,
      openrouter(400, 'Provider returned error', { raw: '{"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}' }),
    ),
    'context_length_exceeded',
  ],
  ...[
    'you requested 9000 tokens (8000 in the messages, 1000 in the completion)',
    'max_tokens is too large: 500. Your request has 4000 input tokens',
    'You requested 100 output tokens and your prompt contains at least 8093 input tokens',
  ].map(
    (message, nth) =>
      [`6: vLLM, wording ${nth + 1}`, status(400, vllm(message, 'BadRequestError', 400)), 'context_length_exceeded'] as const,
  ),
  [
    '6: older vLLM, too long',
    status(400, oldVllm('maximum context length is 4096', 'BadRequestError', 400)),
    'context_length_exceeded',
  ],
  ['6: vLLM, too long with 500', status(500, vllm('prompt too long', 'InternalServerError', 500)), 'context_length_exceeded'],
  [
    '6: Ollama, too long',
    status(400, ollama('prompt too long; exceeded context', 'invalid_request_error')),
    'context_length_exceeded',
  ],
  ['6: Azure, too long', status(400, azure('context_length_exceeded', 'Too long.')), 'context_length_exceeded'],
  [
    '6: Anthropic, too long',
    status(400, anthropic('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum')),
    'context_length_exceeded',
  ],
  [
    '6: Anthropic, too large',
    status(413, anthropic('request_too_large', 'Request exceeds the maximum size')),
    'context_length_exceeded',
  ],
  ["6: an edge's page with 413", html(413), 'context_length_exceeded'],
  ...[
    'maximum prompt length is 10',
    'input exceeds the context window',
    'the request exceeds the available context size',
    'greater than the context length',
    "longer than the model's context length",
    'The input token count (99) exceeds the maximum',
    'maximum allowed input length',
    'Input is too long for requested model.',
    'length of all messages is too long',
    'Please reduce the length of the messages',
    'Please reduce the length of the prompt',
    'Request too large for model with tier',
    'exceeded model token limit: 8192',
    'context window exceeds limit (2013)',
    'input length and max_tokens exceed context limit: 9',
    'Range of input length should be [1, 6000]',
    'model_context_window_exceeded',
    'STRING_TOO_LONG',
  ].map((message) => [`6: "${message}"`, status(422, { message }), 'context_length_exceeded'] as const),
  [
    '6, guarded: throttling in the same words',
    status(400, { message: 'Too many requests: prompt is too long' }),
    'invalid_request',
  ],
  ['6, guarded: 429', status(429, { message: 'Request too large for model with limit' }), 'upstream_rate_limited'],
  ['6, guarded: 503', status(503, { message: 'prompt is too long' }), 'upstream_error'],
  [
    '6, not matched: a bare max_tokens',
    status(400, openai("'max_tokens' is too large: 5000.", 'invalid_request_error')),
    'invalid_request',
  ],

  ['7: OpenAI, policy', status(400, openai('Rejected.', 'invalid_request_error', 'content_policy_violation')), 'content_filter'],
  ['7: DeepSeek, risk', status(400, deepseek('Content Exists Risk')), 'content_filter'],
  [
    '7: OpenRouter, flagged',
    status(403, openrouter(403, 'Input flagged', { reasons: ['x'], flagged_input: 'a secret plan' })),
    'content_filter',
  ],
  [
    '7: Azure, filter',
    status(400, azure('content_filter', 'The response was filtered', 'ResponsibleAIPolicyViolation')),
    'content_filter',
  ],
  ['7: 451', status(451), 'content_filter'],

  [
    '8: OpenAI, unknown model',
    status(404, openai('The model `x` does not exist', 'invalid_request_error', 'model_not_found')),
    'upstream_model_unavailable',
  ],
  [
    '8: OpenAI, no access to it',
    status(403, openai('Project has no access', 'invalid_request_error', 'model_not_found')),
    'upstream_model_unavailable',
  ],
  ['8: DeepSeek, unknown model', status(400, deepseek('Model Not Exist')), 'upstream_model_unavailable'],
  ['8: OpenRouter, unknown model', status(400, openrouter(400, 'foo/bar is not a valid model ID')), 'upstream_model_unavailable'],
  ['8: OpenRouter, no endpoints', status(404, openrouter(404, 'No endpoints found for foo/bar.')), 'upstream_model_unavailable'],
  [
    '8: vLLM, unknown model',
    status(404, vllm('The model `x` does not exist.', 'NotFoundError', 404)),
    'upstream_model_unavailable',
  ],
  [
    '8: older vLLM, unknown model',
    status(404, oldVllm('The model `x` does not exist.', 'NotFoundError', 404)),
    'upstream_model_unavailable',
  ],
  ['8: Ollama, unknown model', status(404, ollama("model 'x' not found", 'not_found_error')), 'upstream_model_unavailable'],
  ['8: Ollama, native', status(404, { error: "model 'x' not found, try pulling it first" }), 'upstream_model_unavailable'],
  [
    '8: Azure, no deployment',
    status(404, azure('DeploymentNotFound', 'The API deployment for this resource does not exist.')),
    'upstream_model_unavailable',
  ],
  ['8: Anthropic, unknown model', status(404, anthropic('not_found_error', 'model: x')), 'upstream_model_unavailable'],
  ['8: 410', status(410), 'upstream_model_unavailable'],

  ['9: an empty 404', status(404), 'upstream_not_configured'],
  ['9: FastAPI, wrong path', status(404, { detail: 'Not Found' }), 'upstream_not_configured'],
  ['9: Go, wrong path', status(404, '404 page not found'), 'upstream_not_configured'],
  [
    '9: OpenAI, wrong path',
    status(404, openai('Invalid URL (POST /chat/completions)', 'invalid_request_error')),
    'upstream_not_configured',
  ],
  [
    '9: a page that talks about models, with 404',
    html(404, '<html><body>All our models</body></html>'),
    'upstream_not_configured',
  ],
  ...[405, 415, 426].map((code) => [`9: ${code}`, status(code), 'upstream_not_configured'] as const),
  ...[400, 403, 404, 405, 418, 422].map((code) => [`9: a page with ${code}`, html(code), 'upstream_not_configured'] as const),
  ['9: a page without its content type', status(400, page), 'upstream_not_configured'],

  [
    '10: region',
    status(403, openai('Country, region, or territory not supported', 'request_forbidden', 'unsupported_country')),
    'upstream_not_configured',
  ],
  [
    '10: Azure, firewall',
    status(403, azure('403', 'Access denied due to Virtual Network/Firewall rules.')),
    'upstream_not_configured',
  ],

  ['11: OpenAI, slow down', status(429, openai('Slow down', 'rate_limit_error', 'slow_down')), 'upstream_rate_limited'],
  ['11: OpenAI, older slow down', status(503, openai('Slow down', 'server_error', 'slow_down')), 'upstream_rate_limited'],
  ['11: DeepSeek', status(429, deepseek('Rate limit reached')), 'upstream_rate_limited'],
  ['11: OpenRouter', status(429, openrouter(429, 'Rate limited'), { retryAfter: '7' }), 'upstream_rate_limited'],
  [
    '11: Azure',
    status(429, azure('429', 'Requests have exceeded token rate limit of your current OpenAI S0 pricing tier.')),
    'upstream_rate_limited',
  ],
  [
    '11: Anthropic',
    status(429, anthropic('rate_limit_error', 'Number of request tokens has exceeded your rate limit')),
    'upstream_rate_limited',
  ],
  ["11: an edge's page with 429", html(429), 'upstream_rate_limited'],
  ['11: an empty 429', status(429), 'upstream_rate_limited'],

  [
    '12: OpenAI',
    status(400, openai("Invalid value: 'x'", 'invalid_request_error', 'invalid_value', 'messages[0].role')),
    'invalid_request',
  ],
  ['12: DeepSeek, parameters', status(422, deepseek('Failed to deserialize the JSON body')), 'invalid_request'],
  [
    '12: FastAPI',
    status(422, { detail: [{ loc: ['body', 'messages'], msg: 'field required', type: 'missing' }] }),
    'invalid_request',
  ],
  ['12: vLLM', status(400, vllm('temperature must be non-negative', 'BadRequestError', 400)), 'invalid_request'],
  ['12: broken JSON', status(400, '{"error":{"message":"Inva', { contentType: 'application/json' }), 'invalid_request'],
  ['13: nothing', status(400), 'upstream_error'],
  ['12: 409', status(409, { error: { message: 'Conflict' } }), 'invalid_request'],
  [
    '12: a refusal sent as a frame',
    status(400, 'data: {"error":{"message":"prompt is too long"}}\n\n'),
    'context_length_exceeded',
  ],

  [
    '13: OpenAI, overloaded',
    status(503, openai('Overloaded', 'service_unavailable_error', 'server_is_overloaded')),
    'upstream_error',
  ],
  ['13: DeepSeek, overloaded', status(503, deepseek('Server overloaded')), 'upstream_error'],
  ['13: OpenRouter, provider down', status(502, openrouter(502, 'Provider down')), 'upstream_error'],
  [
    '13: Ollama, busy',
    status(503, ollama('server busy, please try again. maximum pending requests exceeded', 'api_error')),
    'upstream_error',
  ],
  ['13: Anthropic, overloaded', status(529, anthropic('overloaded_error', 'Overloaded')), 'upstream_error'],
  ...[500, 501, 502, 503, 507, 511, 528, 529, 530, 599].map(
    (code) => [`13: ${code}`, status(code, '{"error":'), 'upstream_error'] as const,
  ),

  ...(['bad_finish', 'no_finish', 'empty', 'not_json', 'not_sse', 'too_large', 'error_object'] as const).map(
    (reason) => [`14: ${reason}`, inBand(undefined, reason), 'upstream_error'] as const,
  ),
  ['14: OpenRouter, mid-stream 502', inBand({ code: 502, message: 'Provider disconnected' }), 'upstream_error'],
  ['14: OpenRouter, mid-stream 429', inBand({ code: 429, message: 'Rate limited' }), 'upstream_rate_limited'],
  ['14: OpenRouter, in a choice 401', inBand({ code: 401, message: 'User not found.' }), 'upstream_not_configured'],
  ['14: Azure, a string 429', inBand({ code: '429', message: 'Slow' }), 'upstream_rate_limited'],
  [
    '14: the whole body',
    inBand({ error: { code: 400, message: "'top_k' is not supported", param: 'top_k' } }),
    'invalid_request',
  ],
  [
    '14: vLLM, mid-stream 400',
    inBand({ error: { message: 'maximum context length is 4096', type: 'BadRequestError', code: 400 } }),
    'context_length_exceeded',
  ],
  [
    '14: overflow without a status',
    inBand({ message: 'prompt is too long', type: 'invalid_request_error' }),
    'context_length_exceeded',
  ],
  ['4: LiteLLM, unknown key', status(400, openai('No connected db.', 'no_db_connection')), 'upstream_not_configured'],
  [
    '6: LiteLLM, overflow by the name of its exception',
    status(
      400,
      openai(
        'litellm.ContextWindowExceededError: litellm.BadRequestError: too much\nmodel=a. fallbacks=None.',
        'invalid_request_error',
      ),
    ),
    'context_length_exceeded',
  ],
  [
    '8: transformers serve, another model',
    status(400, { detail: "Server is pinned to '/models/a'; requested 'b'." }),
    'upstream_model_unavailable',
  ],
  [
    '10: Ollama, a model without tools',
    status(400, openai('registry.ollama.ai/library/a:latest does not support tools', 'api_error')),
    'upstream_not_configured',
  ],
  [
    '10: vLLM, started without tools',
    status(
      400,
      openai('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', 'BadRequestError'),
    ),
    'upstream_not_configured',
  ],
  ['13: a 400 without a word', status(400, ''), 'upstream_error'],
  ['14: no money, by code', inBand({ message: 'No', code: 'insufficient_quota' }), 'upstream_not_configured'],
  ['14: filter, by code', inBand({ message: 'No', code: 'content_filter' }), 'content_filter'],
  ['14: model, by code', inBand({ message: 'No', code: 'model_not_found' }), 'upstream_model_unavailable'],
  ['14: Anthropic, overloaded', inBand(anthropic('overloaded_error', 'Overloaded')), 'upstream_error'],
  ['14: Anthropic, throttled', inBand(anthropic('rate_limit_error', 'Wait')), 'upstream_rate_limited'],
  ['14: Anthropic, key', inBand(anthropic('authentication_error', 'bad')), 'upstream_not_configured'],
  ['14: a bare string', inBand('boom'), 'upstream_error'],
  ['14: nothing known', inBand({ message: 'Something odd', code: 'who_knows' }), 'upstream_error'],
  ['14: a status that is none', inBand({ code: 7, message: 'x' }), 'upstream_error'],
  ...[true, null, 0, [], {}, [[]], { error: null }, { error: [] }].map(
    (error, nth) => [`14: an odd error object, ${nth}`, inBand(error), 'upstream_error'] as const,
  ),
]

// What a failure with a body of no use means, by status.
const bare: readonly (readonly [number, ErrorCode])[] = [
  [307, 'upstream_not_configured'],
  [400, 'invalid_request'],
  [401, 'upstream_not_configured'],
  [402, 'upstream_not_configured'],
  [403, 'upstream_not_configured'],
  [404, 'upstream_not_configured'],
  [408, 'upstream_error'],
  [413, 'context_length_exceeded'],
  [422, 'invalid_request'],
  [429, 'upstream_rate_limited'],
  [500, 'upstream_error'],
  [502, 'upstream_error'],
  [503, 'upstream_error'],
  [504, 'upstream_error'],
  [529, 'upstream_error'],
]

t.test('classifies a bare status by its row, with a meaningless text and without', (t) => {
  for (const [code, meaning] of bare)
    for (const body of ['', 'words', { error: { message: 'words' } }]) {
      // Without a word the member cannot correct anything.
      const expected = body === '' && meaning === 'invalid_request' ? 'upstream_error' : meaning
      t.equal(classifyFailure(status(code, body)).code, expected, `${code} ${JSON.stringify(body)}`)
    }
  t.end()
})

t.test('classifies every upstream failure as the table says', (t) => {
  for (const [name, facts, code] of cases) t.equal(classifyFailure(facts).code, code, name)
  t.end()
})

t.test('classifies every status from 300 to 599 within its side, with any body', (t) => {
  const bodies = ['', page, '{"error":', '{"error":{"message":"x"}}', '"x"', '[]', 'null', '<html', '\u0000\uffff']
  for (let code = 300; code <= 599; code++) {
    for (const body of bodies) {
      for (const contentType of ['application/json', 'text/html', '']) {
        const failure = classifyFailure(status(code, body, { contentType }))
        if (failure.code === 'sign_in_required') t.fail(`${code} ${body}`)
        if (failure.details.upstreamStatus !== code) t.fail(`${code} is not told`)
        if (failure.stage === 'auth') t.fail(`${code} is shown as an authentication failure`)
      }
    }
  }
  t.pass('no cell shows an authentication failure')
  t.end()
})

t.test('treats a 429 as throttling in any markup', (t) => {
  for (const body of ['', page, '{', '{}', '[]', 'Too many tokens']) {
    for (const contentType of ['', 'text/html', 'application/json']) {
      t.equal(classifyFailure(status(429, body, { contentType })).code, 'upstream_rate_limited', `${contentType} ${body}`)
    }
  }
  t.end()
})

t.test('reports the raw status if it is known', (t) => {
  t.equal(classifyFailure(status(401)).details.upstreamStatus, 401)
  t.equal(classifyFailure(inBand({ code: 429 })).details.upstreamStatus, 429)
  t.equal(classifyFailure(inBand({ code: 'rate_limit_exceeded' })).details.upstreamStatus, 200)
  t.equal(classifyFailure(inBand(undefined, 'empty')).details.upstreamStatus, 200)
  t.notOk('upstreamStatus' in classifyFailure(network('ECONNRESET')).details)
  t.notOk('upstreamStatus' in classifyFailure(timeout('idle')).details)
  t.notOk('upstreamStatus' in classifyFailure({ kind: 'unconfigured', reason: 'x' }).details)
  t.end()
})

t.test('advises against retries where they are pointless, and nowhere else', (t) => {
  t.equal(classifyFailure(status(401)).details.shouldRetry, false)
  t.equal(classifyFailure(status(404, { error: { code: 'model_not_found' } })).details.shouldRetry, false)
  t.equal(classifyFailure(timeout('first_byte')).details.shouldRetry, false)
  t.equal(classifyFailure(timeout('idle')).details.shouldRetry, false)
  for (const facts of [status(500), status(429), status(504), network('ECONNRESET'), inBand(undefined, 'empty')]) {
    t.notOk('shouldRetry' in classifyFailure(facts).details)
  }
  t.end()
})

t.test('passes a wait on in whole seconds, never above a minute', (t) => {
  const now = Date.parse('2026-11-21T12:00:00Z')
  const wait = (code: number, retryAfter: string | null, options = { now }) =>
    classifyFailure(status(code, '', { retryAfter }), options).details.retryAfter
  t.equal(wait(429, '7'), 7)
  t.equal(wait(429, '0'), 1)
  t.equal(wait(429, '1.2'), 2)
  t.equal(wait(429, '3600'), 60)
  t.equal(wait(429, 'Sat, 21 Nov 2026 12:00:20 GMT'), 20)
  t.equal(wait(429, 'Sat, 21 Nov 2026 13:00:00 GMT'), 60)
  t.equal(wait(429, 'Sat, 21 Nov 2026 11:00:00 GMT'), 1)
  t.equal(wait(429, null), 5, 'a 429 always carries a wait')
  t.equal(wait(429, 'soon'), 5)
  t.equal(wait(429, '-3'), 5)
  t.equal(wait(429, '9'.repeat(400)), 5)
  t.equal(
    classifyFailure(status(429, '', { retryAfter: 'Sat, 21 Nov 2026 12:00:20 GMT' })).details.retryAfter,
    5,
    'a date needs the time',
  )
  t.equal(wait(503, '9'), 9)
  t.equal(wait(500, null), undefined)
  t.equal(wait(401, null), 60, 'a 503 always carries a wait')
  t.equal(wait(404, null), 60)
  t.end()
})

t.test('passes a plain validation error on, with the field it names', (t) => {
  const failure = classifyFailure(
    status(400, openai("Invalid 'temperature': must be at most 2.", 'invalid_request_error', 'x', 'temperature')),
  )
  t.equal(failure.message, "The request is not valid: Invalid 'temperature': must be at most 2.")
  t.equal(failure.messageZh, "请求无效：模型服务的说明：Invalid 'temperature': must be at most 2.")
  t.equal(failure.details.param, 'temperature')
  t.equal(failure.status, 400)
  const fastapi = classifyFailure(status(422, { detail: [{ loc: ['body', 'messages', 0, 'role'], msg: 'field required' }] }))
  t.equal(fastapi.message, 'The request is not valid: body.messages.0.role: field required')
  const overflow = classifyFailure(status(400, { message: 'prompt is too long' }))
  t.equal(overflow.details.param, 'messages')
  t.match(overflow.message, 'maximum context length')
  t.match(
    classifyFailure(status(400, '{"error":{"mess')).message,
    /^The request is not valid: .{10,}/,
    'broken JSON is not shown',
  )
  t.notMatch(classifyFailure(status(400, '{"error":{"mess')).message, 'mess')
  t.end()
})

t.test("removes LiteLLM's exceptions, deployments and advice from a validation error", (t) => {
  const wrapped =
    "litellm.BadRequestError: OpenAIException - Invalid value for 'temperature': must be below 2.\nmodel=a. context_window_fallbacks=None. fallbacks=None.\n\nSet 'context_window_fallback' - https://docs.litellm.ai/docs/routing#fallbacks\n\nLiteLLM: model group 'a' failed with the error above. No fallback was attempted."
  const plain = "The request is not valid: Invalid value for 'temperature': must be below 2."
  t.equal(classifyFailure(status(400, openai(wrapped, 'x'))).message, plain)
  t.equal(
    classifyFailure(status(400, openai(wrapped.replace(/\nmodel=[^]*(?=LiteLLM:)/, '\n'), 'x'))).message,
    plain,
    'with the trailer alone',
  )
  t.equal(
    classifyFailure(status(400, openai('Bad value at /messages/0/role and/or 1/2/3', 'x'))).message,
    'The request is not valid: Bad value at /messages/0/role and/or 1/2/3',
    'a pointer into the request stays',
  )
  t.end()
})

t.test('removes what the client must not see from a validation error', (t) => {
  const secrets = [
    'sk-proj-AbCdEfGh1234567890',
    'sk-ab***********yz',
    'Bearer abc.def.ghi',
    'https://internal.example.com/v1?key=1',
    'wss://10.0.0.1:8000/x',
    '10.1.2.3:8000',
    'www.internal.example',
    'someone@example.com',
    'org-1234abcd',
    'user_2x9Kq',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc',
    'AIzaSyA1234567890abcdefg',
    'data:image/png;base64,iVBORw0KGgo',
    'api_key=hunter2',
    'f47ac10b58cc4372a5670e02b2c3d479',
    'gpt-internal-7',
    '/srv/models/secret-name',
    'registry.example.ai/library/secret:latest',
  ]
  for (const secret of secrets) {
    const failure = classifyFailure(status(400, { error: { message: `Bad ${secret} here`, param: secret } }), {
      redact: ['gpt-internal-7'],
    })
    t.equal(failure.code, 'invalid_request', secret)
    t.notOk(JSON.stringify([failure.message, failure.messageZh, failure.details]).includes(secret), secret)
    t.match(failure.message, /Bad … ?here/, secret)
  }
  const hostile =
    classifyFailure(status(400, { error: { message: `a\u0000b\u001b[31m\nc\u202ed\u200be\ud800 ${'x '.repeat(9_000)}` } }))
      .details.params?.detail?.en ?? ''
  t.notMatch(hostile, /[\p{Cc}\p{Cf}\p{Cs}]/u)
  t.ok([...hostile].length <= 500)
  t.ok(hostile.startsWith('a b [31m c d e'))
  const emoji = classifyFailure(status(400, { error: { message: '😀'.repeat(900) } })).details.params?.detail?.en ?? ''
  t.ok(emoji.isWellFormed(), 'no character is split')
  t.end()
})

t.test('allows another target only if the request cannot have been acted on', (t) => {
  for (const facts of [
    network('ECONNREFUSED'),
    network('ENOTFOUND'),
    network('CERT_HAS_EXPIRED'),
    timeout('connect'),
    status(429),
    status(503),
    status(529, anthropic('overloaded_error', 'Overloaded')),
  ]) {
    t.ok(isSafeToRetry(facts), JSON.stringify(facts))
  }
  const acted = [
    network('ECONNRESET'),
    network('UND_ERR_SOCKET'),
    network('EPIPE'),
    timeout('first_byte'),
    timeout('idle'),
    timeout('total'),
  ]
  for (const facts of [
    ...acted,
    status(500),
    status(502),
    status(504),
    status(529),
    status(400),
    inBand({ code: 429 }),
    inBand({ code: 503 }),
  ]) {
    t.notOk(isSafeToRetry(facts), JSON.stringify(facts))
  }
  t.end()
})

t.test('does not let a client count against a target by what it sends', (t) => {
  const against = [
    network('ECONNRESET'),
    timeout('idle'),
    status(500),
    status(529),
    status(401),
    status(402),
    status(302),
    inBand(undefined, 'empty'),
  ]
  for (const facts of against) t.ok(countsAgainstBreaker(facts), JSON.stringify(facts))
  const validation = [
    status(400),
    status(422),
    status(413),
    status(500, { message: 'prompt is too long' }),
    inBand({ code: 400 }),
  ]
  const blocked = [html(403), html(400), status(404, { error: { code: 'model_not_found' } }), status(451)]
  const waits = [status(429), inBand({ code: 429 }), { kind: 'unconfigured', reason: 'x' } as const]
  for (const facts of [...validation, ...blocked, ...waits]) t.notOk(countsAgainstBreaker(facts), JSON.stringify(facts))
  t.end()
})

t.test('treats a process without descriptors as its own lack of capacity, and allows another target', (t) => {
  for (const code of ['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS']) {
    const { code: told, details } = classifyFailure(network(code))
    t.equal(told, 'upstream_rate_limited', code)
    t.match(details, { retryAfter: Number })
    t.ok(isSafeToRetry(network(code)), code)
    t.notOk(countsAgainstBreaker(network(code)), code)
  }
  t.end()
})

t.test("names the failure without the upstream's words", (t) => {
  const failure = new UpstreamFailure(status(500, 'secret words'), 'api.example.com', { cause: new Error('why') })
  t.equal(failure.message, 'upstream answered 500')
  t.equal(failure.upstreamHost, 'api.example.com')
  t.equal(failure.name, 'UpstreamFailure')
  t.ok(failure.cause)
  t.equal(new UpstreamFailure(timeout('idle')).message, 'upstream timed out: idle')
  t.equal(new UpstreamFailure(network('ECONNRESET')).message, 'upstream connection failed: ECONNRESET')
  t.equal(new UpstreamFailure(inBand({ message: 'secret' })).message, 'upstream answered 200 and failed: error_object')
  t.equal(new UpstreamFailure({ kind: 'unconfigured', reason: 'no key' }).message, 'upstream not configured: no key')
  t.end()
})

t.test('never throws, leaks or blames the client, whatever the facts are', (t) => {
  const allowed: readonly ErrorCode[] = [
    'upstream_error',
    'upstream_rate_limited',
    'upstream_not_configured',
    'upstream_model_unavailable',
    'context_length_exceeded',
    'content_filter',
    'invalid_request',
  ]
  const secret = 'sk-live-1234567890abcdefXYZ'
  const word = fc.constantFrom(
    secret,
    'prompt is too long',
    'rate limit',
    'model',
    'not found',
    'billing',
    'error',
    'content_filter',
    '429',
    page,
  )
  const value = fc.oneof(fc.jsonValue(), word, fc.string({ unit: 'binary' }), fc.integer())
  const errorObject = fc.record(
    { code: value, type: value, message: value, param: value, metadata: value, innererror: value },
    { requiredKeys: [] },
  )
  const anyError = fc.oneof(
    errorObject,
    fc.record({ error: fc.oneof(errorObject, value) }),
    fc.record({ detail: value }),
    fc.array(errorObject),
    value,
  )
  const body = fc.oneof(
    anyError.map((error) => JSON.stringify(error)),
    fc.string({ unit: 'binary', maxLength: 300 }),
    word,
  )
  const facts: fc.Arbitrary<FailureFacts> = fc.oneof(
    fc.record({ kind: fc.constant('unconfigured' as const), reason: fc.string() }),
    fc.record({ kind: fc.constant('network' as const), code: fc.oneof(fc.string(), fc.constantFrom('ECONNRESET', 'EAI_AGAIN')) }),
    fc.record({ kind: fc.constant('timeout' as const), phase: fc.constantFrom('connect', 'first_byte', 'idle', 'total') }),
    fc.record({
      kind: fc.constant('status' as const),
      status: fc.integer({ min: 100, max: 999 }),
      contentType: fc.oneof(fc.string(), fc.constantFrom('text/html', 'application/json')),
      retryAfter: fc.option(fc.oneof(fc.string(), fc.integer().map(String), fc.date().map(String))),
      body,
    }),
    fc.record({
      kind: fc.constant('in_band' as const),
      status: fc.integer({ min: 200, max: 299 }),
      reason: fc.constantFrom('error_object', 'bad_finish', 'no_finish', 'empty', 'not_json', 'not_sse', 'too_large'),
      error: anyError,
    }),
  )
  fc.assert(
    fc.property(facts, (facts) => {
      const failure = classifyFailure(facts, { now: 1_790_000_000_000 })
      const { params, param, retryAfter, ...rest } = failure.details
      isSafeToRetry(facts)
      countsAgainstBreaker(facts)
      return (
        failure instanceof GatewayError &&
        allowed.includes(failure.code) &&
        ['upstream', 'validation'].includes(failure.stage) &&
        !JSON.stringify([failure.message, failure.messageZh, failure.details]).includes(secret) &&
        (failure.code === 'invalid_request' || (params === undefined && failure.message === errorCatalog[failure.code].en)) &&
        (retryAfter === undefined || (Number.isInteger(retryAfter) && retryAfter >= 1 && retryAfter <= 60)) &&
        (params?.detail?.en ?? 'x').length > 0 &&
        (param === undefined || [...param].length <= 500) &&
        Object.keys(rest).every((key) => ['upstreamStatus', 'shouldRetry'].includes(key))
      )
    }),
    { numRuns: 2_000 },
  )
  t.pass('2000 arbitrary failures')
  t.end()
})

t.test('spends no more time on a hostile body than on an ordinary one', (t) => {
  for (const unit of [
    'input token count ',
    'model ',
    'sk-',
    'a@',
    '1.1.1.1',
    '<html',
    'data:',
    '{"error":',
    '\n',
    'eyJ',
    'A1',
  ] as const) {
    const before = process.cpuUsage()
    classifyFailure(status(400, unit.repeat(Math.ceil(65_536 / unit.length)).slice(0, 65_536)))
    classifyFailure(status(400, { error: { message: unit.repeat(Math.ceil(60_000 / unit.length)) } }))
    const tookMs = process.cpuUsage(before).user / 1e3
    t.ok(tookMs < 1_000, `${JSON.stringify(unit)} took ${tookMs.toFixed(0)} ms of CPU`)
  }
  t.end()
})
