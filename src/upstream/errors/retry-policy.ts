/** Whether a failed call may be retried on another target, and whether it counts against the target's health. */
import type { FailureFacts } from '../../exchange/upstream-failure.ts'
import { classifyFailure, getEffectiveStatus, isCapacityExhausted } from './classify-failure.ts'
import { readErrorBody, readErrorValue } from './error-body.ts'
import { invalidAddressCodes, invalidKey, matchesPattern, unaffordableRequest } from './error-patterns.ts'

/**
 * True if the upstream cannot have acted on the request: the connection was never made, or the whole request was rejected with 429 or 503,
 * or with Anthropic's 529.
 */
export function isSafeToRetry(facts: FailureFacts): boolean {
  if (wasNeverSent(facts)) return true
  if (facts.kind !== 'status') return false
  return (
    [429, 503].includes(facts.status) ||
    (facts.status === 529 && readErrorBody(facts.body, facts.contentType).codes.includes('overloaded_error'))
  )
}

/** True if no byte of the request was sent: another target costs no upstream anything. */
export function wasNeverSent(facts: FailureFacts): boolean {
  if (wasNeverCalled(facts)) return true
  if (facts.kind === 'network') return notConnectedCodes.test(facts.code)
  return facts.kind === 'timeout' && facts.phase === 'connect'
}

/** True if the target was not called, so that the failure says nothing about it. */
export function wasNeverCalled(facts: FailureFacts): boolean {
  return facts.kind === 'unconfigured' || facts.kind === 'resting' || isCapacityExhausted(facts)
}

/**
 * True if the failure is the target's and not the request's. Errors that a caller can provoke at will (validation, a firewall's page, an
 * unknown model) must not close a target for everyone, and a target that asks to wait is healthy.
 */
export function countsAgainstBreaker(facts: FailureFacts): boolean {
  if (wasNeverCalled(facts) || (facts.kind === 'timeout' && facts.isOwnLimit === true)) return false
  if (facts.kind === 'in_band' && facts.reason === 'unusable_output') return false
  if (facts.kind === 'status' && !(facts.status >= 500 || facts.status < 400 || [401, 402, 407, 408].includes(facts.status)))
    return false
  const { code } = classifyFailure(facts)
  return code === 'upstream_error' || code === 'upstream_not_configured' || code === 'upstream_model_unavailable'
}

/**
 * True if no request can cause the failure: no connection, no answer in time, a rejected key, no capacity, a wrong address. Any other failure
 * may be the request's: one that ends a call to this target would end the next one too.
 */
export function isCausedByTarget(facts: FailureFacts): boolean {
  if (wasNeverSent(facts) || rejectsCredential(facts)) return true
  // The whole time of a turn is used up by a long answer too.
  if (facts.kind === 'timeout') return facts.phase !== 'total'
  const status = getEffectiveStatus(facts)
  return (status >= 300 && status < 400) || targetStatuses.has(status)
}

/** True if the upstream refuses the request, its length or its content: the member's next request of this kind would be refused as well. */
export function isCausedByRequest(facts: FailureFacts): boolean {
  return requestCodes.has(classifyFailure(facts).code)
}

const requestCodes: ReadonlySet<string> = new Set(['invalid_request', 'context_length_exceeded', 'content_filter'])

/** A time-out, no capacity, or a proxy that cannot reach the server behind it. A 500 or 502 may be a request that made that server fail. */
const targetStatuses: ReadonlySet<number> = new Set([408, 503, 504, 521, 522, 523, 524, 525, 526, 529])

/**
 * True if the target rejects the operator's credential or account, by its status or an error code: its text may quote a member. A 402 that
 * smaller requests do not meet is the request's.
 */
export function rejectsCredential(facts: FailureFacts): boolean {
  if (facts.kind !== 'status' && facts.kind !== 'in_band') return false
  const error = facts.kind === 'status' ? readErrorBody(facts.body, facts.contentType) : readErrorValue(facts.error)
  const { codes, status } = error
  const effectiveStatus = facts.kind === 'status' ? facts.status : (status ?? facts.status)
  if (effectiveStatus === 402 && matchesPattern(error, unaffordableRequest)) return false
  const isRejected =
    [401, 402, 407].includes(effectiveStatus) ||
    ([200, 400, 403].includes(effectiveStatus) && matchesPattern({ codes, text: '' }, invalidKey))
  return isRejected && classifyFailure(facts).code === 'upstream_not_configured'
}

const notConnectedCodes = new RegExp(
  `${invalidAddressCodes.source}|^(?:ECONNREFUSED|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|UND_ERR_CONNECT_TIMEOUT)$`,
)
