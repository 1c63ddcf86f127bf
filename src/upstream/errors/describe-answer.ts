/** Describes the answer of a failed upstream call for the log. */
import type { FailureFacts } from '../../exchange/upstream-failure.ts'
import { readErrorBody, readErrorValue } from './error-body.ts'
import { isKnownCode } from './error-patterns.ts'
import { sanitizeText } from './sanitize-text.ts'

/** An upstream's answer as the log tells it at any level: what it looked like, and not a word of it. */
export function describeAnswer(facts: FailureFacts): Record<string, unknown> | undefined {
  if (facts.kind === 'resting') return facts.cause === null ? undefined : describeAnswer(facts.cause)
  if (facts.kind !== 'status' && facts.kind !== 'in_band') return undefined
  const isStatus = facts.kind === 'status'
  const { codes, message, text, html } = isStatus ? readErrorBody(facts.body, facts.contentType) : readErrorValue(facts.error)
  const isObject = isStatus ? /^\s*(?:[[{]|data:)/.test(facts.body) : typeof facts.error === 'object'
  return {
    // Any other code may be a word of the prompt.
    code: codes.find(isKnownCode),
    shape: html ? 'page' : isObject ? 'json' : message === '' ? 'empty' : 'text',
    length: isStatus ? facts.body.length : Math.max(message.length, text.trim().length),
  }
}

/** The upstream's message for the log at the level `debug`, sanitized: it may quote a prompt. */
export function getUpstreamMessage(facts: FailureFacts): string | undefined {
  if (facts.kind !== 'status' && facts.kind !== 'in_band') return undefined
  const { message, text, html } =
    facts.kind === 'status' ? readErrorBody(facts.body, facts.contentType) : readErrorValue(facts.error)
  if (html) return 'a web page'
  const sanitizedMessage = sanitizeText(message === '' ? text : message).slice(0, maxLoggedLength)
  return sanitizedMessage === '' ? undefined : sanitizedMessage
}

const maxLoggedLength = 200
