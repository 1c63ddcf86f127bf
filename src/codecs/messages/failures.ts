/** Failures in the form of the Messages API. What a client does next depends on the status and the headers. */
import type { ErrorCode, GatewayError } from '../../errors.ts'
import { toGatewayFields } from '../../exchange/envelope.ts'
import type { FailedExchange, Reply } from '../../exchange/exchange.ts'

interface Rendering {
  /** Anthropic's type of the error. */
  readonly type: string
  /** Replaces the catalog's status. */
  readonly status?: number
}

/** Fields of chat requests in messages to the client, with their names in this format. */
const fieldNames: Readonly<Record<string, string>> = {
  stop: 'stop_sequences',
  max_completion_tokens: 'max_tokens',
  response_format: 'output_config.format',
  reasoning_effort: 'output_config.effort',
}

const byStatus: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
}

const renderings: Readonly<Partial<Record<ErrorCode, Rendering>>> = {
  // Claude Code tells the member to choose another model only after a 404.
  official_models_only: { type: 'not_found_error', status: 404 },
  upstream_not_configured: { type: 'api_error' },
}

function render(failure: GatewayError): Rendering {
  return (
    renderings[failure.code] ?? {
      type: byStatus[failure.status] ?? (failure.status < 500 ? 'invalid_request_error' : 'api_error'),
    }
  )
}

export function toErrorBody(x: FailedExchange, failure: GatewayError): object {
  return {
    type: 'error',
    error: {
      type: render(failure).type,
      message: toMessage(x, failure),
      code: failure.code,
      param: toFieldPath(failure.details.param),
    },
    request_id: x.id,
    ...toGatewayFields(x, failure),
  }
}

export function toFailureReply(x: FailedExchange, failure: GatewayError, reply: Reply): Reply {
  return {
    status: render(failure).status ?? failure.status,
    headers: {
      ...reply.headers,
      // Claude Code repeats most statuses up to ten times, also 401 and 409.
      ...(canSucceedLater(failure) ? {} : { 'x-should-retry': 'false' }),
      'request-id': x.id,
    },
    body: JSON.stringify(toErrorBody(x, failure)),
  }
}

function canSucceedLater({ details, actions }: GatewayError): boolean {
  return details.shouldRetry ?? actions.includes('retry_later')
}

function toFieldPath(param: string | undefined): string | null {
  if (param === undefined) return null
  return Object.hasOwn(fieldNames, param) ? (fieldNames[param] ?? param) : param
}

/** Claude Code shortens the conversation only after a refusal that begins like this, with both numbers. */
function toMessage({ hold, product }: FailedExchange, failure: GatewayError): string {
  if (failure.code !== 'context_length_exceeded' || product?.contextLength == null) return failure.message
  const max = product.contextLength
  return `prompt is too long: ${Math.max(hold?.inputEstimate ?? 0, max + 1)} tokens > ${max} maximum`
}
