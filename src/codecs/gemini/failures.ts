/** Failures in the form of Google's APIs. */
import type { ErrorCode, GatewayError } from '../../errors.ts'
import { toGatewayFields } from '../../exchange/envelope.ts'
import type { FailedExchange, Reply } from '../../exchange/exchange.ts'

/** Fields of chat requests in messages to the client, with their names in this format. */
const fieldNames: Readonly<Record<string, string>> = {
  messages: 'contents',
  stop: 'generationConfig.stopSequences',
  max_tokens: 'generationConfig.maxOutputTokens',
  max_completion_tokens: 'generationConfig.maxOutputTokens',
  modalities: 'generationConfig.responseModalities',
  response_format: 'generationConfig.responseSchema',
  reasoning_effort: 'generationConfig.thinkingConfig',
}

/** Google's names of statuses (`google.rpc.Code`). */
const statusNames: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  402: 'RESOURCE_EXHAUSTED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

/** Statuses that replace the catalogue's. */
const statuses: Readonly<Partial<Record<ErrorCode, number>>> = { official_models_only: 404 }

export function toErrorBody(x: FailedExchange, failure: GatewayError): object {
  const { code, message, details } = failure
  const status = statuses[code] ?? failure.status
  return {
    // SDKs look for a text that begins with this field.
    error: {
      code: status,
      message,
      status: statusNames[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL'),
      details: [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code.toUpperCase(), domain: x.names.slug },
        ...toFieldDetails(details.param),
        ...toRetryDetails(details.retryAfter),
      ],
    },
    ...toGatewayFields(x, failure),
  }
}

export function toFailureReply(x: FailedExchange, failure: GatewayError, reply: Reply): Reply {
  return {
    status: statuses[failure.code] ?? failure.status,
    headers: reply.headers,
    body: JSON.stringify(toErrorBody(x, failure)),
  }
}

function toFieldDetails(param: string | undefined): readonly object[] {
  if (param === undefined) return []
  const field = Object.hasOwn(fieldNames, param) ? fieldNames[param] : param
  return [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field }] }]
}

/** Gemini CLI waits for as long as this names. */
function toRetryDetails(seconds: number | undefined): readonly object[] {
  if (seconds === undefined) return []
  return [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${Math.max(1, Math.ceil(seconds))}s` }]
}
