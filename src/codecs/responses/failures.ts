/**
 * Renders failures. OpenAI's SDKs need the usual statuses. Codex repeats most of them, five times or thirty times, and shows its own text
 * for others; it receives statuses that make it do what the failure calls for.
 */
import type { FailedExchange, JsonObject } from '../../exchange/api-format/api-format.ts'
import type { GatewayError } from '../../errors.ts'
import type { Reply } from '../../exchange/exchange.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import { isCodex } from './codex-client.ts'
import { ownJsonBounds, parseJson } from '../../system/parse-json.ts'

/** Fields of chat requests in messages to the client, with their names in this format. */
const fieldNames: Readonly<Record<string, string>> = {
  messages: 'input',
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
  verbosity: 'text.verbosity',
}

/** Codes that clients know; all others are the catalog's. */
const errorCodes: Readonly<Partial<Record<GatewayError['code'], string>>> = {
  official_models_only: 'model_not_found',
}

/** A longer wait is reported as a limit that ends at a time: Codex would wait for it, and five times over. */
const maxWaitSeconds = 60
/** Codex does not repeat a 429 without a time. */
const defaultWaitSeconds = 5

export function toFailureReply(x: FailedExchange, failure: GatewayError, reply: Reply): Reply {
  const rendering = isCodex(x.inbound.headers)
    ? renderForCodex(x, failure, reply)
    : { status: reply.status, error: toError(failure), headers: reply.headers }
  const { status, error, headers } = rendering
  return {
    status,
    headers,
    body: JSON.stringify({ ...parseEnvelope(reply), error }),
  }
}

/** The error of a failed stream. Codex reads these codes; it repeats the turn for all others. */
export function toStreamError(failure: GatewayError): { readonly code: string; readonly message: string } {
  const { code, message, details } = failure
  const seconds = Math.ceil(details.retryAfter ?? defaultWaitSeconds)
  switch (code) {
    case 'context_length_exceeded':
      return { code, message }
    case 'official_models_only':
      return { code: 'model_not_found', message }
    case 'quota_exceeded':
      return { code: 'insufficient_quota', message }
    case 'rate_limited':
    case 'upstream_rate_limited':
      // Codex reads the wait from the text, in seconds.
      return { code: 'rate_limit_exceeded', message: `${message} Please try again in ${seconds}s.` }
    default:
      return { code: canSucceedLater(failure) ? 'server_error' : 'invalid_prompt', message }
  }
}

interface Rendering {
  readonly status: number
  readonly error: JsonObject
  readonly headers: Readonly<Record<string, string>>
}

function renderForCodex(x: FailedExchange, failure: GatewayError, reply: Reply): Rendering {
  const { code, details, status } = failure
  const error = toError(failure)
  const { 'retry-after': _, ...headers } = reply.headers
  if (code === 'quota_exceeded') {
    const resetsAt = Number(reply.headers[x.names.quotaResetHeader])
    if (resetsAt > 0) return renderUsageLimit(failure, resetsAt, headers)
  }
  if (status === 429) {
    const wait = details.retryAfter ?? defaultWaitSeconds
    if (wait > maxWaitSeconds) return renderUsageLimit(failure, Math.ceil(x.startedAt / 1000 + wait), headers)
    return { status, error, headers: { ...headers, 'retry-after': String(Math.max(1, Math.ceil(wait))) } }
  }
  if (code === 'context_length_exceeded' || code === 'official_models_only') return { status: 400, error, headers }
  // Its own waits end after half a minute, when the sentence is shown; with a `Retry-After` it would wait thirty times as long as that says.
  // The text of a 500 is not shown.
  if (canSucceedLater(failure)) return { status: Math.max(status, 502), error, headers }
  // With this code the sentence is shown alone, and nothing is repeated.
  return { status: 400, error: { ...error, code: 'invalid_prompt' }, headers }
}

/** "You've hit your usage limit. …, or try again at 4:50 PM.", with our sentence in the middle. */
function renderUsageLimit(failure: GatewayError, resetsAt: number, headers: Reply['headers']): Rendering {
  const advice = failure.message
    .replaceAll(/ ?Resets in [^.]*\./g, '')
    .replaceAll(/[^ -~]/g, '')
    .replace(/\.$/, '')
  return {
    status: 429,
    error: { ...toError(failure), type: 'usage_limit_reached', code: 'usage_limit_reached', resets_at: resetsAt },
    headers: { ...headers, 'x-codex-promo-message': advice },
  }
}

/** Whether the same request may succeed when it is sent again. */
function canSucceedLater({ status, details, actions }: GatewayError): boolean {
  return status >= 500 && details.shouldRetry !== false && actions.includes('retry_later')
}

function toError(failure: GatewayError): JsonObject {
  const { message, type, code, details } = failure
  return { message, type, code: errorCodes[code] ?? code, param: details.param === undefined ? null : toFieldPath(details.param) }
}

function toFieldPath(param: string): string {
  const [field = ''] = /^\w+/.exec(param) ?? []
  const name = Object.hasOwn(fieldNames, field) ? fieldNames[field] : undefined
  // Items and messages are not numbered alike.
  return name === undefined ? param : name
}

function parseEnvelope({ body }: Reply): JsonObject {
  try {
    const envelope: unknown = parseJson(typeof body === 'string' ? body : Buffer.from(body).toString(), ownJsonBounds)
    return isRecord(envelope) ? envelope : {}
  } catch {
    return {}
  }
}
