import t from 'tap'
import type { ErrorCode } from '../../src/errors.ts'
import { GatewayError, errorCatalog, invalidRequest } from '../../src/errors.ts'

const codes = Object.keys(errorCatalog) as ErrorCode[]

/** OpenAI's values of `error.type`; a client that switches on them meets no other. */
const types = [
  'invalid_request_error',
  'authentication_error',
  'permission_error',
  'not_found_error',
  'rate_limit_error',
  'insufficient_quota',
  'server_error',
  'service_unavailable_error',
]
const stages = ['auth', 'rate_limit', 'validation', 'quota', 'upstream', 'internal', 'membership']
const actions = [
  'retry_later',
  'switch_model',
  'sign_in',
  'device_login',
  'upgrade_plan',
  'use_boost',
  'shorten_prompt',
  'fix_request',
  'contact_operator',
]

t.test('states for every code what happened in both languages and what can be done', (t) => {
  for (const code of codes) {
    const entry = errorCatalog[code]
    t.match(code, /^[a-z]+(?:_[a-z]+)*$/, code)
    t.match(entry.en, /^[A-Z].*[.}]$/, `${code} has an English sentence`)
    t.match(entry.zh, /\p{Script=Han}.*[。}]$/u, `${code} has a Chinese sentence`)
    t.ok(types.includes(entry.type), `${code} has a type of OpenAI's`)
    t.ok(stages.includes(entry.stage), `${code} has a known stage`)
    t.ok(entry.actions.length > 0, `${code} has an action`)
    for (const action of entry.actions) t.ok(actions.includes(action), `${code}: ${action}`)
    t.ok(entry.status >= 400 && entry.status <= 599, `${code} is a failure`)
    t.same(new Set(entry.en.match(/\{\w+\}/g)), new Set(entry.zh.match(/\{\w+\}/g)), `${code} says the same in both languages`)
  }
  t.end()
})

t.test('keeps status and stage of the specification’s ten codes', (t) => {
  const promised: Partial<Record<ErrorCode, readonly [number, string]>> = {
    sign_in_required: [401, 'auth'],
    rate_limited: [429, 'rate_limit'],
    quota_exceeded: [402, 'quota'],
    official_models_only: [400, 'validation'],
    upstream_error: [502, 'upstream'],
    upstream_rate_limited: [429, 'upstream'],
    upstream_not_configured: [503, 'upstream'],
    upstream_model_unavailable: [502, 'upstream'],
    context_length_exceeded: [400, 'validation'],
    internal_error: [500, 'internal'],
  }
  for (const [code, [status, stage]] of Object.entries(promised)) {
    const failure = new GatewayError(code as ErrorCode)
    t.equal(failure.status, status, code)
    t.equal(failure.stage, stage, code)
  }
  t.equal(Object.keys(promised).length, 10)
  t.end()
})

t.test('uses the stage auth for authentication failures only', (t) => {
  for (const code of codes) {
    const { status, stage, type } = new GatewayError(code)
    if (status === 401 || type === 'authentication_error') t.equal(stage, 'auth', code)
  }
  t.equal(codes.filter((code) => code.startsWith('upstream_') && errorCatalog[code].stage !== 'upstream').length, 0)
  t.end()
})

t.test('keeps the words that clients search for', (t) => {
  t.match(errorCatalog.context_length_exceeded.en, 'maximum context length', 'agents detect an overflow by them')
  t.match(errorCatalog.official_models_only.en, '{ids}', 'the valid ids are listed')
  t.match(errorCatalog.invalid_request.en, '{detail}')
  for (const code of ['upstream_error', 'upstream_rate_limited', 'upstream_not_configured'] as const) {
    t.match(errorCatalog[code].en, 'You were not charged.', code)
    t.match(errorCatalog[code].zh, '未计费', code)
  }
  t.end()
})

t.test('fills the text in both languages and carries details', (t) => {
  const failure = new GatewayError('official_models_only', { params: { ids: 'svc, svc-2.1' }, param: 'model' })
  t.equal(failure.message, 'This service does not offer this model. Available models: svc, svc-2.1.')
  t.match(failure.messageZh, '可用模型：svc, svc-2.1。')
  t.equal(failure.details.param, 'model')
  t.equal(failure.type, 'invalid_request_error')
  t.same(failure.actions, ['switch_model'])
  t.equal(
    new GatewayError('conflict', { message: { en: 'Taken.', zh: '已占用。' }, stage: 'quota', actions: ['sign_in'] }).message,
    'Taken.',
  )
  t.equal(new GatewayError('conflict', { message: { en: 'Taken.', zh: '已占用。' } }).messageZh, '已占用。')
  t.equal(new GatewayError('conflict', { stage: 'quota' }).stage, 'quota')
  const detailed = invalidRequest({ en: "'model' must be a string.", zh: "'model' 必须是字符串。" }, 'model')
  t.equal(detailed.message, "The request is not valid: 'model' must be a string.")
  t.equal(detailed.messageZh, "请求无效：'model' 必须是字符串。")
  t.equal(invalidRequest({ en: 'x', zh: '某' }).details.param, undefined)
  t.end()
})

t.test('does not fill a filled-in text again', (t) => {
  const braces = '{detail} {ids} $& $1'
  t.equal(invalidRequest({ en: braces, zh: braces }).message, `The request is not valid: ${braces}`)
  const names = '{constructor} {__proto__} {toString}'
  const message = { en: names, zh: names }
  t.equal(new GatewayError('conflict', { message, params: { a: 'b' } }).message, names)
  t.end()
})

t.test('requires both languages of a detail at compile time', async () => {
  // @ts-expect-error words need both languages
  invalidRequest('only English')
  // @ts-expect-error words need both languages
  void new GatewayError('invalid_request', { params: { detail: 'only English' } })
})
