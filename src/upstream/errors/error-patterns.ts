/** Codes and phrases of upstream errors that were observed, grouped by meaning. */
import type { ErrorBody } from './error-body.ts'

/** The forms of one error: a code (in lower case) or a phrase. */
interface ErrorPattern {
  readonly codes: RegExp
  readonly text?: RegExp
}

/** Returns whether one of the body's codes or its text matches. */
export function matchesPattern({ codes, text }: Pick<ErrorBody, 'codes' | 'text'>, pattern: ErrorPattern): boolean {
  return codes.some((code) => pattern.codes.test(code)) || pattern.text?.test(text) === true
}

/** The upstream rejects the operator's credential. LiteLLM without a database reports an unknown key as `no_db_connection`. */
export const invalidKey: ErrorPattern = {
  codes:
    /^(?:invalid_api_key|api_key_invalid|wrong_api_key|api_key_expired|incorrect_api_key_error|access_terminated_error|authentication_error|invalid_authentication|unauthenticated|unauthorized|no_db_connection|(?:account|organization|project|workspace)_(?:restricted|suspended|deactivated|disabled))$/,
  text: /\b(?:invalid|incorrect|missing|expired) api key\b|\bapi key (?:is )?(?:not valid|invalid|not found|expired|missing)\b/i,
}

/** The operator's account has no funds. */
export const insufficientFunds: ErrorPattern = {
  codes:
    /^(?:insufficient_quota|exceeded_current_quota_error|insufficient_balance|insufficient_credits|credit_balance_exhausted|billing_error|billing_not_active|billing_hard_limit_reached|payment_required|arrearage|budget_exceeded)$|(?:^|_)spend_limit(?:_|$)|(?:^|_)usage_limit(?:_|$)/,
  text: /\binsufficient (?:account )?(?:balance|credits?|funds|quota)\b|\b(?:credit|account) balance\b|\b(?:not enough|out of|no remaining|requires more) credits?\b|\bexceeded your current quota\b|\bbilling (?:details|hard limit|account|issue|is not active)\b|\bspend(?:ing)? limit\b|\breached your (?:specified )?(?:api )?usage limits?\b|\bpayment (?:is )?required\b|\bin arrears\b|\bpast invoices\b|余额不足|欠费/i,
}

/** The operator's funds do not cover this request, but smaller ones (OpenRouter): its prompt or its cap on the output is too large for them. */
export const unaffordableRequest: ErrorPattern = {
  codes: /^$/,
  text: /\bfewer max_tokens\b|\bcan only afford \d|\bprompt tokens limit exceeded\b/i,
}

/** The conversation is too long. There is no common code. */
export const contextOverflow: ErrorPattern = {
  codes: /^(?:context_length_exceeded|request_too_large|model_context_window_exceeded|string_too_long)$/,
  text: new RegExp(
    [
      'context_length_exceeded',
      'maximum context length',
      'context length is only',
      String.raw`inputs.{0,3} tokens .{0,3} .{0,3}max_new_tokens.{0,3} must be <=`,
      String.raw`inputs.{0,3} must have less than \d+ tokens`,
      'exceeds? the (?:model.s )?(?:maximum )?context (?:length|window|size)',
      'requested tokens? .{0,40}exceeds? context window',
      'requested token count exceeds',
      'exceeds? (?:the )?maximum (?:allowed )?(?:input|prompt|token) length',
      'too many (?:input )?tokens in (?:the )?prompt',
      'too many tokens: (?:the )?total number of tokens',
      'context length of only',
      'current length is \\d+ while limit is',
      'prompt contains \\d+ tokens',
      'input is longer than the maximum',
      'token limit exceeded|exceeds? the token limit',
      'maximum prompt length is',
      'exceeds the context window',
      'exceeds the available context size',
      'context size has been exceeded',
      'greater than the context length',
      "longer than the model's context length",
      'input token count .{0,200}exceeds',
      'maximum allowed input length',
      'prompt is too long',
      'prompt too long',
      'prompt {0,1}超长',
      'input token length (?:is )?too long',
      'input is too long',
      'length of all messages is too long',
      'reduce the length of the (?:messages|input|prompt)',
      'too large for model with',
      'exceeded model token limit',
      'context window exceeds limit',
      'exceed context limit',
      'range of input length should be',
      'request_too_large',
      'model_context_window_exceeded',
      'string_too_long',
      'ContextWindowExceededError',
      String.raw`you requested \d+ tokens \(`,
      String.raw`your request has \d+ input tokens`,
      String.raw`prompt contains at least \d+ input tokens`,
    ].join('|'),
    'i',
  ),
}

/** A field is rejected for its name, not for its value. */
export const fieldRejected: ErrorPattern = {
  codes: /^(?:unsupported_parameter|unknown_parameter|extra_forbidden|unrecognized_parameter)$/,
  text: /\b(?:unsupported|unrecognized|unknown|unexpected|not supported|not permitted|not allowed|extra inputs?|no such|deprecated|cannot find field)\b/i,
}

/** A cap on the output is rejected for its value. */
export const outputCapRejected: ErrorPattern = {
  codes: /^(?:max_tokens_exceeded|invalid_max_tokens)$/,
  text: /\bmax_?(?:completion_|output_|new_)?tokens\b|\b(?:completion|output) tokens\b/i,
}

/** Google's daily limits are part of the operator's plan; those per minute pass. */
export const perDayLimit = /per_?day/i
export const perMinuteLimit = /per_?minute/i

/** Throttling, which sometimes uses the words of an overflow. */
export const throttled: ErrorPattern = {
  codes: /rate_?limit|too_?many_?requests|throttl|resource_exhausted/,
  text: /rate limit|too many requests|throttl/i,
}

/** A content policy rejected the request. */
export const contentFiltered: ErrorPattern = {
  codes:
    /^(?:content_filter|invalid_prompt|content_filtered|content_policy|content_policy_violation|image_content_policy_violation|moderation_blocked|responsibleaipolicyviolation|data_inspection_failed|sensitive_content|sensitive_words_detected|content_violation|safety_check_failed)$/,
  text: /\bcontent exists risk\b|\bcontent[ _]filter|\bcontent (?:management )?policy\b|\bcontent_policy_violation\b|\b(?:flagged|rejected|blocked) (?:by|as a result of) (?:our |the )?(?:moderation|safety)\b|\b(?:unsafe or sensitive|contain inappropriate) content\b|\bcontains? sensitive words\b|不安全或敏感内容|敏感词/i,
}

/** The region of the operator's server is not supported. */
export const unsupportedRegion: ErrorPattern = {
  codes: /^unsupported_country/,
  text: /\b(?:user )?(?:location|country|region)[^.]{0,40} not supported\b/i,
}

/** On a 404 any mention of a model tells a missing model from a wrong address. */
export const modelMissing: ErrorPattern = {
  codes: /^(?:model_not_found|not_found|not_found_error|notfounderror|deploymentnotfound|modelnotfound)$/,
  text: /\b(?:models?|deployment|no endpoints found)\b/i,
}

/** On other statuses a whole phrase is needed. */
export const unknownModel: ErrorPattern = {
  codes:
    /^(?:model_not_found|deploymentnotfound|modelnotfound|model_decommissioned|model_not_available|invalid_model|unknown_model)$/,
  text: /\bmodel not exists?\b|\bno such model\b|\bmodel\b.{0,80}\bis not (?:available|supported|loaded|found)\b|\bfailed to load model\b|\bno models? (?:is |are )?loaded\b|\bnot a valid model\b|\bserver is pinned to\b|\b(?:invalid|unknown|unsupported) model\b|\bmodel (?:has |is |was |has been )?(?:crashed|unloaded)\b|\bmodel\b.{0,150}\b(?:does not exist|not found|has been decommissioned)\b/i,
}

/** The model, or the server as it was started, offers no tools (Ollama, vLLM). */
export const toolsUnsupported: ErrorPattern = {
  codes: /^tools?_not_supported$/,
  text: /\bdoes not support (?:tools|tool use|tool calling|function calling)\b|\btool choice requires --|--enable-auto-tool-choice\b|\btools param requires --jinja\b/i,
}

/** Sentences about the request that model servers send with a 500: its media, its messages for the template, its schema, its fields. */
export const requestRejected: ErrorPattern = {
  codes: /^$/,
  text: new RegExp(
    [
      // Pictures and sound: llama.cpp, llamafile, llama-cpp-python, Ollama, Pillow in Python servers.
      String.raw`\b(?:image|audio|video) input is not supported\b`,
      String.raw`\bimage input detected, but\b`,
      String.raw`\bnot compiled for multimodal\b`,
      String.raw`\bmissing data required for image input\b`,
      String.raw`\bunsupported content(?: part|\[\])?[ .]type\b`,
      String.raw`\bfailed to (?:load|decode|process|parse) (?:the )?(?:image|audio|video|media)\b`,
      String.raw`\bimage: unknown format\b`,
      String.raw`\binvalid image (?:input|data|format)\b`,
      String.raw`\bcannot identify image file\b`,
      String.raw`\bimage file is truncated\b`,
      String.raw`\billegal base64 data\b`,
      String.raw`\binvalid base64-encoded string\b`,
      // Messages that a chat template rejects: llama.cpp, vLLM, SGLang, LM Studio, Ollama.
      String.raw`\bjinja(?:2\.exceptions\b| exception\b| template\b)`,
      String.raw`\bTemplateError\b`,
      String.raw`\braise_exception\b`,
      String.raw`\bwhile executing \w{1,40} at line \d+, column \d+ in source:`,
      String.raw`\bat row \d+, column \d+:\n`,
      String.raw`\btemplate: \S{0,80}:\d+:\d+: executing\b`,
      String.raw`\bconversation roles must alternate\b`,
      String.raw`\bsystem role not supported\b`,
      String.raw`\bassistant response prefill is incompatible\b`,
      String.raw`\bassistant messages at the end of the list\b`,
      String.raw`\bunable to generate parser for this template\b`,
      // Schemas and fields: llama.cpp, its JSON library, pydantic in llama-cpp-python.
      String.raw`\bfailed to parse (?:messages|tools|tool choice|grammar|json schema)\b`,
      String.raw`\bfailed to initialize samplers\b`,
      String.raw`\bjson schema conversion failed\b`,
      String.raw`\berror resolving ref\b`,
      String.raw`^\s*\[json\.exception\.\w+\.\d+\]`,
      String.raw`\bvalidation errors?\b.{0,20}\s.{0,80}'loc': \('body'`,
      String.raw`\bcodec can't encode characters?\b.{0,80}\bsurrogates not allowed\b`,
    ].join('|'),
    'i',
  ),
}

/** OpenAI's throttling used to be a 503. */
export const slowDown: ErrorPattern = { codes: /^slow_down$/ }

/** Names that stand for a status when an error inside a 200 states none. Other names stay an upstream error. */
export const statusByErrorName: ReadonlyMap<string, number> = new Map<string, number>([
  ['invalid_api_key', 401],
  ['authentication_error', 401],
  ['unauthorized', 401],
  ['permission_error', 403],
  ['permission_denied', 403],
  ['billing_error', 402],
  ['payment_required', 402],
  ['not_found_error', 404],
  ['rate_limit_error', 429],
  ['rate_limit_exceeded', 429],
  ['too_many_requests', 429],
  ['slow_down', 429],
  ['timeout_error', 504],
  ['invalid_request_error', 400],
  ['badrequesterror', 400],
  ['server_is_overloaded', 503],
  ['overloaded_error', 529],
  // Errors of the Responses API about an image of the request.
  ...[
    'invalid_image',
    'invalid_image_format',
    'invalid_base64_image',
    'invalid_image_url',
    'invalid_image_mode',
    'image_too_large',
    'image_too_small',
    'image_parse_error',
    'image_file_too_large',
    'unsupported_image_media_type',
    'empty_image_file',
    'failed_to_download_image',
    'image_file_not_found',
  ].map((name) => [name, 400] as const),
])

/** Whether a code of an error body is one of those above, letter by letter: others may repeat words of the request. */
export function isKnownCode(code: string): boolean {
  return statusByErrorName.has(code) || exactPatterns.some(({ codes }) => codes.test(code))
}

const exactPatterns: readonly ErrorPattern[] = [
  invalidKey,
  contextOverflow,
  fieldRejected,
  outputCapRejected,
  contentFiltered,
  modelMissing,
  unknownModel,
  toolsUnsupported,
  slowDown,
  {
    codes:
      /^(?:insufficient_quota|insufficient_balance|insufficient_credits|payment_required|invalid_request_error|invalid_value|missing_required_parameter|server_error|internal_server_error|internal_error|internalservererror|badrequesterror|api_error|service_unavailable|service_unavailable_error|invalid_argument|resource_exhausted|unavailable|unknown_error)$/,
  },
]

/** Codes of Node and undici for a wrong address: unknown host name, or invalid certificate. */
export const invalidAddressCodes =
  /^(?:ENOTFOUND|EAI_|CERT_|CRL_|ERR_TLS_|ERR_SSL_|ERR_OSSL_|EPROTO$|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|ERR_INVALID_URL)/
