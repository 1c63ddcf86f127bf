/**
 * The error catalog: every failure a client can receive, in one table, and the class that carries it. Texts, statuses and stages are the
 * service's contract; clients match on `code`.
 */

/** Step of a request at which it failed (closed list). */
export const stages = ['auth', 'rate_limit', 'validation', 'quota', 'upstream', 'internal', 'membership'] as const
export type Stage = (typeof stages)[number]

/** What the reader can do next (closed list). */
export const actions = [
  'retry_later',
  'switch_model',
  'sign_in',
  'device_login',
  'upgrade_plan',
  'use_boost',
  'shorten_prompt',
  'fix_request',
  'contact_operator',
] as const
export type Action = (typeof actions)[number]

interface CatalogEntry {
  readonly status: number
  readonly stage: Stage
  /** Coarse kind, in OpenAI's vocabulary. */
  readonly type: string
  readonly actions: readonly Action[]
  /** `{name}` is replaced from the failure's `params`. */
  readonly en: string
  readonly zh: string
}

export const errorCatalog = {
  sign_in_required: {
    status: 401,
    stage: 'auth',
    type: 'authentication_error',
    actions: ['sign_in', 'device_login'],
    en: 'You are not signed in, or your session or key is no longer valid.',
    zh: '你尚未登录，或登录状态、密钥已失效。',
  },
  rate_limited: {
    status: 429,
    stage: 'rate_limit',
    type: 'rate_limit_error',
    actions: ['retry_later', 'upgrade_plan'],
    en: 'Too many requests. Wait a moment and try again.',
    zh: '请求过于频繁，请稍后再试。',
  },
  quota_exceeded: {
    status: 402,
    stage: 'quota',
    type: 'insufficient_quota',
    actions: ['use_boost', 'upgrade_plan', 'retry_later'],
    en: 'Your included usage for this period is used up.',
    zh: '本周期的可用额度已用完。',
  },
  official_models_only: {
    status: 400,
    stage: 'validation',
    type: 'invalid_request_error',
    actions: ['switch_model'],
    en: 'This service does not offer this model. Available models: {ids}.',
    zh: '此处不提供该模型。可用模型：{ids}。',
  },
  upstream_error: {
    status: 502,
    stage: 'upstream',
    type: 'server_error',
    actions: ['retry_later', 'switch_model'],
    en: 'The model service failed to answer. You were not charged.',
    zh: '模型服务暂时出错，本次未计费。',
  },
  upstream_rate_limited: {
    status: 429,
    stage: 'upstream',
    type: 'rate_limit_error',
    actions: ['retry_later', 'switch_model'],
    en: 'The model service is busy. You were not charged. Try again shortly.',
    zh: '模型服务繁忙，本次未计费，请稍后重试。',
  },
  upstream_not_configured: {
    status: 503,
    stage: 'upstream',
    type: 'service_unavailable_error',
    actions: ['contact_operator'],
    en: 'The service is not set up correctly on our side. You were not charged. Contact the operator.',
    zh: '服务端配置有误，本次未计费，请联系管理员。',
  },
  upstream_model_unavailable: {
    status: 502,
    stage: 'upstream',
    type: 'server_error',
    actions: ['switch_model', 'contact_operator'],
    en: 'This model is unavailable right now. You were not charged. Choose another model.',
    zh: '该模型当前不可用，本次未计费，请换用其他模型。',
  },
  context_length_exceeded: {
    status: 400,
    stage: 'validation',
    type: 'invalid_request_error',
    actions: ['shorten_prompt', 'switch_model'],
    en: "The conversation is longer than this model's maximum context length.",
    zh: '对话内容超出该模型的最大上下文长度。',
  },
  internal_error: {
    status: 500,
    stage: 'internal',
    type: 'server_error',
    actions: ['retry_later', 'contact_operator'],
    en: 'Something went wrong on our side.',
    zh: '服务器内部错误。',
  },
  temporarily_unavailable: {
    status: 503,
    stage: 'internal',
    type: 'service_unavailable_error',
    actions: ['retry_later'],
    en: 'Temporarily overloaded. You were not charged. Try again shortly.',
    zh: '服务暂时过载，本次未计费，请稍后重试。',
  },
  invalid_request: {
    status: 400,
    stage: 'validation',
    type: 'invalid_request_error',
    actions: ['fix_request'],
    en: 'The request is not valid: {detail}',
    zh: '请求无效：{detail}',
  },
  content_filter: {
    status: 400,
    stage: 'validation',
    type: 'invalid_request_error',
    actions: ['fix_request'],
    en: 'The request was refused by the content policy.',
    zh: '请求因内容政策被拒绝。',
  },
  not_found: {
    status: 404,
    stage: 'validation',
    type: 'not_found_error',
    actions: ['fix_request'],
    en: 'No such resource.',
    zh: '未找到该资源。',
  },
  method_not_allowed: {
    status: 405,
    stage: 'validation',
    type: 'invalid_request_error',
    actions: ['fix_request'],
    en: 'This method is not supported here.',
    zh: '不支持该请求方法。',
  },
  payload_too_large: {
    status: 413,
    stage: 'validation',
    type: 'invalid_request_error',
    actions: ['shorten_prompt'],
    en: 'The request body is too large.',
    zh: '请求内容过大。',
  },
  unsupported_media_type: {
    status: 415,
    stage: 'validation',
    type: 'invalid_request_error',
    actions: ['fix_request'],
    en: 'Send the body as application/json.',
    zh: '请以 application/json 发送请求。',
  },
  forbidden_origin: {
    status: 403,
    stage: 'auth',
    type: 'permission_error',
    actions: ['fix_request'],
    en: 'This request came from a page that is not allowed.',
    zh: '请求来源不被允许。',
  },
  link_invalid: {
    status: 403,
    stage: 'auth',
    type: 'permission_error',
    actions: ['fix_request'],
    en: 'This link is not valid. Use it exactly as it was given.',
    zh: '链接无效，请使用原始链接。',
  },
  link_expired: {
    status: 410,
    stage: 'auth',
    type: 'invalid_request_error',
    actions: ['fix_request'],
    en: 'This link has expired. Ask for the image again.',
    zh: '链接已过期，请重新生成图像。',
  },
  access_denied: {
    status: 400,
    stage: 'auth',
    type: 'permission_error',
    actions: ['device_login'],
    en: 'The sign-in request was declined.',
    zh: '登录请求已被拒绝。',
  },
  expired_token: {
    status: 400,
    stage: 'auth',
    type: 'invalid_request_error',
    actions: ['device_login'],
    en: 'The device code has expired. Start again.',
    zh: '设备码已过期，请重新开始。',
  },
  invalid_grant: {
    status: 400,
    stage: 'auth',
    type: 'invalid_request_error',
    actions: ['device_login'],
    en: 'The device code is unknown or already used.',
    zh: '设备码无效或已被使用。',
  },
  invalid_credentials: {
    status: 401,
    stage: 'auth',
    type: 'authentication_error',
    actions: ['sign_in'],
    en: 'The email, password or code is not correct.',
    zh: '邮箱、密码或验证码不正确。',
  },
  sign_in_method_disabled: {
    status: 403,
    stage: 'auth',
    type: 'permission_error',
    actions: ['sign_in'],
    en: 'Members of this service sign in with their provider alone.',
    zh: '本服务仅支持第三方登录。',
  },
  reauthentication_required: {
    status: 401,
    stage: 'auth',
    type: 'authentication_error',
    actions: ['sign_in'],
    en: 'Confirm that it is you: request a code by email and enter it.',
    zh: '请先确认是你本人操作：获取发送到你邮箱的验证码并输入。',
  },
  second_factor_required: {
    status: 401,
    stage: 'auth',
    type: 'authentication_error',
    actions: ['sign_in'],
    en: 'Prove your second factor at /operator first.',
    zh: '请先在管理员页面 /operator 完成两步验证。',
  },
  step_up_required: {
    status: 401,
    stage: 'auth',
    type: 'authentication_error',
    actions: ['sign_in'],
    en: 'This action needs a proof of the last ten minutes: prove your second factor again at /operator, or open a new link.',
    zh: '此操作需要十分钟内的验证：请在管理员页面 /operator 重新完成两步验证，或使用新的链接。',
  },
  permission_denied: {
    status: 403,
    stage: 'auth',
    type: 'permission_error',
    actions: ['contact_operator'],
    en: 'Your role or key does not allow this.',
    zh: '你的角色或密钥无权执行此操作。',
  },
  sign_up_closed: {
    status: 403,
    stage: 'membership',
    type: 'permission_error',
    actions: ['contact_operator'],
    en: 'Sign-up is closed. Ask the operator for an account.',
    zh: '此站点不开放自行注册，请联系管理员开通账户。',
  },
  conflict: {
    status: 409,
    stage: 'membership',
    type: 'invalid_request_error',
    actions: ['fix_request'],
    en: 'This has already been done.',
    zh: '操作已完成，请勿重复。',
  },
  boost_unavailable: {
    status: 409,
    stage: 'membership',
    type: 'invalid_request_error',
    actions: ['retry_later'],
    en: 'This boost is not available right now.',
    zh: '当前无法领取该加油包。',
  },
  code_unusable: {
    status: 409,
    stage: 'membership',
    type: 'invalid_request_error',
    actions: ['fix_request', 'contact_operator'],
    en: 'This code cannot be redeemed.',
    zh: '该兑换码无法兑换。',
  },
  account_deletion_waiting: {
    status: 403,
    stage: 'membership',
    type: 'permission_error',
    actions: ['contact_operator'],
    en: 'This account is being deleted. The deletion waits until the payment provider has confirmed that it charges no more; an email tells you when it is done.',
    zh: '此账户正在注销，正在等待支付服务确认停止扣款；完成后会发送邮件通知。',
  },
  order_refused: {
    status: 409,
    stage: 'membership',
    type: 'invalid_request_error',
    actions: ['fix_request', 'contact_operator'],
    en: 'This cannot be bought at the moment.',
    zh: '当前无法购买。',
  },
} as const satisfies Record<string, CatalogEntry>

export type ErrorCode = keyof typeof errorCatalog

/** A text in both languages. */
export interface LocalizedText {
  readonly en: string
  readonly zh: string
}

/** The text of a failure without its statement that nothing was charged, for a request of which an earlier part was charged. */
export function removeChargeClaim({ en, zh }: LocalizedText): LocalizedText {
  return { en: en.replaceAll(/ ?You were not charged\./g, ''), zh: zh.replaceAll('，本次未计费', '') }
}

/** Details of a failure besides its code; all of it may be shown to the client, except `cause`. */
export interface FailureDetails {
  /** Fills `{name}` in the catalog's text. Sentences need both languages; an id is the same in both. */
  readonly params?: { readonly detail?: LocalizedText; readonly [name: string]: LocalizedText | string | undefined }
  /** The invalid request field, e.g. `messages[0].role`; OpenAI's `error.param`. */
  readonly param?: string
  /** Replaces the catalog's text with a more exact one (both languages). */
  readonly message?: LocalizedText
  readonly actions?: readonly Action[]
  readonly stage?: Stage
  /** Seconds after which a retry can succeed; becomes `Retry-After`. */
  readonly retryAfter?: number
  /** `false` if an SDK's automatic retries are pointless; becomes `x-should-retry`. */
  readonly shouldRetry?: boolean
  /** Additional headers of this response, e.g. `allow`. */
  readonly headers?: Readonly<Record<string, string>>
  /** The upstream's raw status, if known. */
  readonly upstreamStatus?: number
  /** For the log, never shown. */
  readonly cause?: unknown
}

/** The only error that reaches a client with its own message; anything else thrown becomes `internal_error`. */
export class GatewayError extends Error {
  readonly code: ErrorCode
  readonly details: FailureDetails

  constructor(code: ErrorCode, details: FailureDetails = {}) {
    super(interpolate(details.message?.en ?? errorCatalog[code].en, 'en', details.params), { cause: details.cause })
    this.name = 'GatewayError'
    this.code = code
    this.details = details
  }

  get status(): number {
    return errorCatalog[this.code].status
  }

  get stage(): Stage {
    return this.details.stage ?? errorCatalog[this.code].stage
  }

  get type(): string {
    return errorCatalog[this.code].type
  }

  get actions(): readonly Action[] {
    return this.details.actions ?? errorCatalog[this.code].actions
  }

  /** The message in Chinese. */
  get messageZh(): string {
    return interpolate(this.details.message?.zh ?? errorCatalog[this.code].zh, 'zh', this.details.params)
  }
}

/** An invalid request: `invalidRequest({ en: "'model' must be a string.", zh: "'model' 必须是字符串。" }, 'model')`. */
export function invalidRequest(detail: LocalizedText, param?: string): GatewayError {
  return new GatewayError('invalid_request', { params: { detail }, ...(param === undefined ? {} : { param }) })
}

function interpolate(text: string, language: keyof LocalizedText, params: FailureDetails['params'] = {}): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const value = Object.hasOwn(params, name) ? params[name] : undefined
    return typeof value === 'object' ? value[language] : (value ?? whole)
  })
}
