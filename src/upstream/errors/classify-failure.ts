/** Classifies a failed upstream call for the caller: the table of rules and its predicates. */
import type { ErrorCode, FailureDetails } from '../../errors.ts'
import { GatewayError } from '../../errors.ts'
import type { FailureFacts } from '../../exchange/upstream-failure.ts'
import type { ErrorBody } from './error-body.ts'
import { readErrorBody, readErrorValue } from './error-body.ts'
import { toRefusalText } from './refusal-text.ts'
import { sanitizeText } from './sanitize-text.ts'
import {
  invalidKey,
  perDayLimit,
  perMinuteLimit,
  contentFiltered,
  modelMissing,
  insufficientFunds,
  contextOverflow,
  matchesPattern,
  requestRejected,
  slowDown,
  statusByErrorName,
  throttled,
  toolsUnsupported,
  unknownModel,
  invalidAddressCodes,
  unsupportedRegion,
} from './error-patterns.ts'

interface ClassifyOptions {
  /** Milliseconds since 1970, for a `Retry-After` that is a date; without it such a date is ignored. */
  readonly now?: number
  /** Seconds after which clients should retry, from the target's health; used where the upstream states no wait. */
  readonly retryAfterSeconds?: number | null
  /** The target rests after this failure: its health alone decides when it is called again, also where the upstream states a wait. */
  readonly isTargetResting?: boolean
  /** Words to remove from a message that is passed on: the target's model id, host and key. */
  readonly redact?: readonly string[]
  /** The thrown error, for the log. */
  readonly cause?: unknown
}

/**
 * Returns the failure that the caller sees: the first rule that matches. It never reports that the caller is not signed in, and it never
 * throws. Only `invalid_request` quotes the upstream, sanitized.
 */
export function classifyFailure(facts: FailureFacts, options: ClassifyOptions = {}): GatewayError {
  if (facts.kind === 'resting') return classifyResting(facts.cause, options)
  const observedFailure = observeFailure(facts, options)
  const rule = rules.find((row) => row.when(observedFailure)) ?? fallbackRule
  const cause = options.cause === undefined ? {} : { cause: options.cause }
  return new GatewayError(rule.code, { ...statusDetails(observedFailure), ...rule.details?.(observedFailure, options), ...cause })
}

/** A turn that was refused without a call has the code of the target's last failure, and the time of the next call. */
function classifyResting(cause: FailureFacts | null, options: ClassifyOptions): GatewayError {
  const seconds = options.retryAfterSeconds ?? defaultRetryAfterSeconds
  const last = cause === null ? null : classifyFailure(cause, options)
  if (last !== null && last.code !== 'upstream_error') {
    // No call was made, so there is no status of the upstream.
    const { upstreamStatus: _, ...details } = last.details
    return new GatewayError(last.code, { ...details, retryAfter: seconds, cause: options.cause })
  }
  return new GatewayError('upstream_error', {
    retryAfter: seconds,
    cause: options.cause,
    message: {
      en: `The model service keeps failing. You were not charged. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`,
      zh: `模型服务持续出错，本次未计费，请在 ${seconds} 秒后重试。`,
    },
  })
}

/** The facts, reduced to what the rules test. */
interface ObservedFailure extends ErrorBody {
  readonly facts: FailureFacts
  /** The effective status: the one stated inside a 200 where there is one; 0 if there was no response. */
  readonly effectiveStatus: number
  /** A 200 whose error states no status: only its codes and its text can tell. */
  readonly isStatusUnstated: boolean
  /** Whole seconds of the upstream's `Retry-After`, at most `maxRetryAfterSeconds`. */
  readonly retryAfterSeconds: number | null
}

interface Rule {
  /** Number of the rule, for tests and discussion. */
  readonly number: number
  readonly when: (observed: ObservedFailure) => boolean
  readonly code: ErrorCode
  readonly details?: (observed: ObservedFailure, options: ClassifyOptions) => FailureDetails
}

/** Evaluated top to bottom; the first match decides. The order matters: see the comments. */
const rules: readonly Rule[] = [
  {
    number: 1,
    when: ({ facts }) => facts.kind === 'unconfigured',
    code: 'upstream_not_configured',
    details: ({ facts }) => ({
      ...operatorDetails(),
      ...(facts.kind === 'unconfigured' ? notConfiguredDetails(facts.product) : {}),
    }),
  },
  {
    number: 11,
    when: ({ facts }) => isCapacityExhausted(facts),
    code: 'upstream_rate_limited',
    details: retryAfterOrDefault,
  },
  {
    // The upstream rejects a field that the gateway added. The member's request is valid.
    number: 1,
    when: ({ facts }) => facts.kind === 'status' && facts.addedField !== undefined,
    code: 'upstream_not_configured',
    details: operatorDetails,
  },
  {
    // An unknown host name, an invalid certificate, a redirect: the configured address is wrong.
    number: 2,
    when: ({ facts, effectiveStatus }) =>
      (facts.kind === 'network' && invalidAddressCodes.test(facts.code)) || (effectiveStatus >= 300 && effectiveStatus < 400),
    code: 'upstream_not_configured',
    details: operatorDetails,
  },
  {
    // The wait was long already; an SDK's two retries would triple it.
    number: 3,
    when: ({ facts }) => facts.kind === 'timeout',
    code: 'upstream_error',
    details: (observed, options) => ({ shouldRetry: false, ...statedRetryAfter(observed, options) }),
  },
  {
    number: 3,
    when: ({ facts, effectiveStatus }) =>
      facts.kind === 'network' || [408, 504].includes(effectiveStatus) || (effectiveStatus >= 520 && effectiveStatus <= 527),
    code: 'upstream_error',
    details: statedRetryAfter,
  },
  {
    // The operator's credential, not the caller's. Google rejects a bad key with 400.
    number: 4,
    when: (observed) =>
      [401, 407].includes(observed.effectiveStatus) || (hasStatus(observed, 400, 403) && matchesPattern(observed, invalidKey)),
    code: 'upstream_not_configured',
    details: credentialDetails,
  },
  {
    // A 402 with a wait is a budget in flight, not an empty account.
    number: 5,
    when: ({ effectiveStatus, retryAfterSeconds }) => effectiveStatus === 402 && retryAfterSeconds !== null,
    code: 'upstream_rate_limited',
    details: retryAfterOrDefault,
  },
  {
    // Google writes "quota" and "billing" for every limit; the details or the wait tell which limit it was.
    number: 11,
    when: (observed) => observed.effectiveStatus === 429 && isTransientLimit(observed),
    code: 'upstream_rate_limited',
    details: retryAfterOrDefault,
  },
  {
    number: 5,
    when: (observed) =>
      observed.effectiveStatus === 402 ||
      (hasStatus(observed, 429, 400, 403, 412) && matchesPattern(observed, insufficientFunds)),
    code: 'upstream_not_configured',
    details: credentialDetails,
  },
  {
    // "Too many tokens" also describes throttling; that check comes first.
    number: 6,
    when: (observed) =>
      observed.effectiveStatus === 413 ||
      (hasStatus(observed, 400, 413, 422, 500) &&
        matchesPattern(observed, contextOverflow) &&
        !matchesPattern(observed, throttled)),
    code: 'context_length_exceeded',
    details: () => ({ param: 'messages' }),
  },
  {
    number: 7,
    when: (observed) =>
      observed.effectiveStatus === 451 ||
      (observed.effectiveStatus === 403 && observed.flagged) ||
      matchesPattern(observed, contentFiltered),
    code: 'content_filter',
  },
  {
    number: 8,
    when: (observed) =>
      observed.effectiveStatus === 410 ||
      (observed.effectiveStatus === 404 && matchesPattern(observed, modelMissing)) ||
      (hasStatus(observed, 400) && matchesPattern(observed, unknownModel)) ||
      (observed.effectiveStatus === 403 && observed.codes.includes('model_not_found')),
    code: 'upstream_model_unavailable',
    details: withoutRetry,
  },
  {
    // The address serves no models. A throttling page of an edge server is still throttling: rule 11 handles 429.
    number: 9,
    when: ({ effectiveStatus, html }) =>
      [404, 405, 415, 426].includes(effectiveStatus) ||
      (html && effectiveStatus >= 400 && effectiveStatus < 500 && effectiveStatus !== 429),
    code: 'upstream_not_configured',
    details: operatorDetails,
  },
  {
    number: 10,
    when: (observed) =>
      observed.effectiveStatus === 403 || (observed.effectiveStatus === 400 && matchesPattern(observed, unsupportedRegion)),
    code: 'upstream_not_configured',
    details: operatorDetails,
  },
  {
    number: 11,
    when: (observed) => observed.effectiveStatus === 429 || (hasStatus(observed, 503) && matchesPattern(observed, slowDown)),
    code: 'upstream_rate_limited',
    details: retryAfterOrDefault,
  },
  {
    // The target's model has no tools, or its server was not started with them: the product's capabilities promise too much.
    number: 10,
    when: (observed) => hasStatus(observed, 400, 422, 500) && matchesPattern(observed, toolsUnsupported),
    code: 'upstream_not_configured',
    details: operatorDetails,
  },
  {
    // A member's request was checked before it was sent. A server that rejects it without a word did not understand the gateway.
    number: 13,
    when: ({ facts, effectiveStatus }) =>
      facts.kind === 'status' && [400, 409, 422].includes(effectiveStatus) && facts.body.trim() === '',
    code: 'upstream_error',
    details: statedRetryAfter,
  },
  {
    number: 12,
    when: ({ effectiveStatus }) => [400, 409, 422].includes(effectiveStatus),
    code: 'invalid_request',
    details: upstreamMessageDetails,
  },
  {
    // Some servers answer 500 to a request that they cannot serve. It is no fault of theirs, and another try fails too.
    number: 12,
    when: (observed) => hasStatus(observed, 500, 501, 502) && matchesPattern(observed, requestRejected),
    code: 'invalid_request',
    details: upstreamMessageDetails,
  },
  {
    number: 13,
    when: ({ effectiveStatus }) => effectiveStatus >= 500,
    code: 'upstream_error',
    details: statedRetryAfter,
  },
]

/** Rule 14, for everything else: the upstream failed. */
const fallbackRule: Rule = { number: 14, when: () => true, code: 'upstream_error', details: statedRetryAfter }

/** Google's throttling: no daily limit among the named limits, or none named and none that is zero. */
function isTransientLimit({ codes, limits, text, retryAfter }: ObservedFailure): boolean {
  if (!codes.includes('resource_exhausted') && !codes.includes('rate_limit_exceeded')) return false
  if (limits.some((name) => perDayLimit.test(name))) return false
  if (limits.some((name) => perMinuteLimit.test(name))) return true
  if (/\blimit: 0\b/.test(text)) return false
  return retryAfter !== null || !codes.includes('insufficient_quota')
}

/** An SDK's retries would get the same response. */
function withoutRetry(): FailureDetails {
  return { shouldRetry: false }
}

/** The operator must correct it, which takes minutes. A 503 carries a wait even if it asks SDKs not to retry at once. */
function operatorDetails(): FailureDetails {
  return { shouldRetry: false, retryAfter: maxRetryAfterSeconds }
}

/** The wait is the time for which the target is not called. */
function credentialDetails(_: ObservedFailure, { retryAfterSeconds }: ClassifyOptions): FailureDetails {
  return { shouldRetry: false, retryAfter: retryAfterSeconds ?? maxRetryAfterSeconds }
}

function notConfiguredDetails(product: string | undefined): FailureDetails {
  if (product === undefined) return {}
  return {
    actions: ['switch_model', 'contact_operator'],
    message: {
      en: `The model '${product}' is not set up on this service. You were not charged. Choose another model.`,
      zh: `此服务尚未配置模型 '${product}'，本次未计费，请换用其他模型。`,
    },
  }
}

/** The upstream's own wait, else the one that follows from the target's health. While the target rests, all clients receive the latter. */
function statedRetryAfter({ retryAfterSeconds }: ObservedFailure, options: ClassifyOptions): FailureDetails {
  const statedSeconds = options.isTargetResting === true ? null : retryAfterSeconds
  const seconds = statedSeconds ?? options.retryAfterSeconds ?? null
  return seconds === null ? {} : { retryAfter: seconds }
}

function retryAfterOrDefault({ retryAfterSeconds }: ObservedFailure): FailureDetails {
  return { retryAfter: retryAfterSeconds ?? defaultRetryAfterSeconds }
}

function upstreamMessageDetails({ message, param }: ObservedFailure, { redact }: ClassifyOptions): FailureDetails {
  const sanitizedMessage = sanitizeText(toRefusalText(message), redact)
  // A vendor's text is not translated. The Chinese message says that the text is the model service's.
  const detail =
    sanitizedMessage === ''
      ? { en: 'the model service does not accept it.', zh: '模型服务不接受该请求。' }
      : { en: sanitizedMessage, zh: `模型服务的说明：${sanitizedMessage}` }
  const field = param === null ? '' : sanitizeText(param, redact)
  return { params: { detail }, ...(field === '' ? {} : { param: field }) }
}

/** The JavaScript SDK ignores a longer wait and retries at once; the Python SDK gives up. */
const maxRetryAfterSeconds = 60
const defaultRetryAfterSeconds = 5

/** This process has no file descriptor, or this machine no port, for another call: the target is not the cause. */
const localExhaustionCodes = /^(?:EMFILE|ENFILE|EADDRNOTAVAIL|ENOBUFS)$/

/** No capacity for another call, by configuration or by the operating system. Capacity returns as calls end. */
export function isCapacityExhausted(facts: FailureFacts): boolean {
  return facts.kind === 'queue_full' || (facts.kind === 'network' && localExhaustionCodes.test(facts.code))
}

function observeFailure(facts: FailureFacts, { now }: ClassifyOptions): ObservedFailure {
  if (facts.kind === 'status') {
    const body = readErrorBody(facts.body, facts.contentType)
    const retryAfterSeconds = facts.retryAfter === null ? boundRetryAfter(body) : parseRetryAfter(facts.retryAfter, now)
    return { ...body, facts, effectiveStatus: facts.status, isStatusUnstated: false, retryAfterSeconds }
  }
  if (facts.kind === 'in_band') {
    const body = readErrorValue(facts.error)
    const namedStatus = body.codes.map((code) => statusByErrorName.get(code)).find((status) => status !== undefined)
    return {
      ...body,
      facts,
      effectiveStatus: body.status ?? namedStatus ?? facts.status,
      isStatusUnstated: body.status === null,
      retryAfterSeconds: null,
    }
  }
  return { ...readErrorValue(null), facts, effectiveStatus: 0, isStatusUnstated: false, retryAfterSeconds: null }
}

/** The status of the response, or the one that is stated inside a 200; 0 if there was no response. */
export function getEffectiveStatus(facts: FailureFacts): number {
  return observeFailure(facts, {}).effectiveStatus
}

/** One of these statuses is effective, or none was stated. */
function hasStatus(observed: ObservedFailure, ...statuses: readonly number[]): boolean {
  return observed.isStatusUnstated || statuses.includes(observed.effectiveStatus)
}

/** The raw status if known: that of the response, or the one stated inside it. */
function statusDetails({ facts, status }: ObservedFailure): FailureDetails {
  if (facts.kind === 'status') return { upstreamStatus: facts.status }
  if (facts.kind === 'in_band') return { upstreamStatus: status ?? facts.status }
  return {}
}

function boundRetryAfter({ retryAfter }: ErrorBody): number | null {
  return retryAfter === null ? null : Math.min(maxRetryAfterSeconds, Math.max(1, Math.ceil(retryAfter)))
}

/** `Retry-After` (RFC 9110, 10.2.3) is a number of seconds or a date, which begins with the name of a day. */
function parseRetryAfter(header: string, now: number | undefined): number | null {
  const seconds = /^\s*\d/.test(header) ? Number(header) : secondsUntil(header, now)
  return Number.isFinite(seconds) ? Math.min(maxRetryAfterSeconds, Math.max(1, Math.ceil(seconds))) : null
}

function secondsUntil(date: string, now: number | undefined): number {
  return now !== undefined && /^\s*[a-z]{3}/i.test(date) ? (Date.parse(date) - now) / 1000 : Number.NaN
}
