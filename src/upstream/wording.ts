/** The words by which upstreams are understood: codes and phrases that were met, gathered by what they mean. */
import type { ErrorBody } from './error-body.ts'

/** How upstreams put one and the same thing: in a code (lower-cased), or in a sentence. */
export interface Wording {
  readonly codes: RegExp
  readonly text?: RegExp
}

/** True if the body says so, by any of its codes or in its text. */
export function says({ codes, text }: Pick<ErrorBody, 'codes' | 'text'>, wording: Wording): boolean {
  return codes.some((code) => wording.codes.test(code)) || wording.text?.test(text) === true
}

/** The operator's own credential is refused. */
export const badKey: Wording = {
  codes:
    /^(?:invalid_api_key|api_key_invalid|wrong_api_key|api_key_expired|incorrect_api_key_error|access_terminated_error|authentication_error|invalid_authentication|unauthenticated|unauthorized)$/,
  text: /\b(?:invalid|incorrect|missing|expired) api key\b|\bapi key (?:is )?(?:not valid|invalid|not found|expired|missing)\b/i,
}

/** The operator's account has run dry. */
export const noMoney: Wording = {
  codes:
    /^(?:insufficient_quota|exceeded_current_quota_error|insufficient_balance|insufficient_credits|credit_balance_exhausted|billing_error|billing_not_active|billing_hard_limit_reached|payment_required|arrearage|budget_exceeded)$|(?:^|_)spend_limit(?:_|$)|(?:^|_)usage_limit(?:_|$)/,
  text: /\binsufficient (?:account )?(?:balance|credits?|funds|quota)\b|\b(?:credit|account) balance\b|\b(?:not enough|out of|no remaining|requires more) credits?\b|\bexceeded your current quota\b|\bbilling (?:details|hard limit|account|issue|is not active)\b|\bspend(?:ing)? limit\b|\breached your (?:specified )?(?:api )?usage limits?\b|\bpayment (?:is )?required\b|\bin arrears\b|\bpast invoices\b|余额不足|欠费/i,
}

/** How the upstreams say that the conversation is too long; there is no common code. */
export const overflow: Wording = {
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
      'greater than the context length',
      "longer than the model's context length",
      'input token count .{0,200}exceeds',
      'maximum allowed input length',
      'prompt is too long',
      'prompt too long',
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
      String.raw`you requested \d+ tokens \(`,
      String.raw`your request has \d+ input tokens`,
      String.raw`prompt contains at least \d+ input tokens`,
    ].join('|'),
    'i',
  ),
}

/** A field is refused for what it is, not for its value. */
export const fieldRefused: Wording = {
  codes: /^(?:unsupported_parameter|unknown_parameter|extra_forbidden|unrecognized_parameter)$/,
  text: /\b(?:unsupported|unrecognized|unknown|unexpected|not supported|not permitted|not allowed|extra inputs?|no such|deprecated|cannot find field)\b/i,
}

/** A cap on the answer is refused for its value. */
export const capRefused: Wording = {
  codes: /^(?:max_tokens_exceeded|invalid_max_tokens)$/,
  text: /\bmax_?(?:completion_|output_|new_)?tokens\b|\b(?:completion|output) tokens\b/i,
}

/** Google's limits by the day are the operator's plan; those by the minute pass. */
export const byTheDay = /per_?day/i
export const byTheMinute = /per_?minute/i

/** Throttling, which now and then borrows the words of an overflow. */
export const throttled: Wording = {
  codes: /rate_?limit|too_?many_?requests|throttl|resource_exhausted/,
  text: /rate limit|too many requests|throttl/i,
}

/** A content policy has refused the request. */
export const filtered: Wording = {
  codes:
    /^(?:content_filter|invalid_prompt|content_filtered|content_policy|content_policy_violation|image_content_policy_violation|moderation_blocked|responsibleaipolicyviolation|data_inspection_failed|sensitive_content|content_violation|safety_check_failed)$/,
  text: /\bcontent exists risk\b|\bcontent[ _]filter|\bcontent (?:management )?policy\b|\bcontent_policy_violation\b|\b(?:flagged|rejected|blocked) (?:by|as a result of) (?:our |the )?(?:moderation|safety)\b/i,
}

/** Where the operator's server stands is not served. */
export const wrongPlace: Wording = {
  codes: /^unsupported_country/,
  text: /\b(?:user )?(?:location|country|region)[^.]{0,40} not supported\b/i,
}

/** On a 404, any mention of a model tells it from a wrong address. */
export const missing: Wording = {
  codes: /^(?:model_not_found|not_found|not_found_error|notfounderror|deploymentnotfound|modelnotfound)$/,
  text: /\b(?:models?|deployment|no endpoints found)\b/i,
}

/** Elsewhere than on a 404 it takes a whole sentence. */
export const unknownModel: Wording = {
  codes:
    /^(?:model_not_found|deploymentnotfound|modelnotfound|model_decommissioned|model_not_available|invalid_model|unknown_model)$/,
  text: /\bmodel not exists?\b|\bno such model\b|\bmodel\b.{0,80}\bis not (?:available|supported|loaded|found)\b|\bfailed to load model\b|\bno models? (?:is |are )?loaded\b|\bnot a valid model\b|\b(?:invalid|unknown) model\b|\bmodel\b.{0,150}\b(?:does not exist|not found|has been decommissioned)\b/i,
}

/** OpenAI's throttling used to come as a 503. */
export const slowDown: Wording = { codes: /^slow_down$/ }

/** Names that stand for a status where an error inside a 200 states none. What they leave out stays an upstream error. */
export const statusOfName: ReadonlyMap<string, number> = new Map([
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
  ['server_is_overloaded', 503],
  ['overloaded_error', 529],
])

/** Codes of Node and undici for an address that was entered wrongly: no such name, or a certificate that does not hold. */
export const wrongAddress =
  /^(?:ENOTFOUND|EAI_|CERT_|CRL_|ERR_TLS_|ERR_SSL_|ERR_OSSL_|EPROTO$|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|ERR_INVALID_URL)/
