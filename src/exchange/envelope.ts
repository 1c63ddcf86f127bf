/**
 * The error envelope: the format in which every failure reaches a client. MCP clients receive it as a JSON-RPC error, clients of another
 * API format as that format's error.
 */
import type { ErrorCode, GatewayError } from '../errors.ts'
import type { Exchange, FailedExchange, Inbound, Reply } from './exchange.ts'
import { jsonHeaders, doneEvent } from './response-headers.ts'

/** The last frames of a failed stream. They contain the failure's status, because the response's own is 200. */
export function toEnvelopeFrames(x: FailedExchange & Pick<Exchange, 'translation'>, failure: GatewayError): string {
  if (x.translation !== undefined) return x.translation.toFailureFrames(x, failure)
  return `data: ${toEnvelopeJson(x, failure, { status: failure.status })}\n\n${doneEvent}`
}

/** The body of a failure, as one line of JSON. */
function toEnvelopeJson(
  x: Pick<Exchange, 'id' | 'debug'>,
  failure: GatewayError,
  extraFields: { readonly status?: number } = {},
): string {
  const { message } = failure
  return JSON.stringify({
    ok: false,
    requestId: x.id,
    error: { message, type: failure.type, code: failure.code, param: failure.details.param ?? null },
    message,
    messageZh: failure.messageZh,
    code: failure.code,
    stage: failure.stage,
    actions: failure.actions,
    debug: x.debug,
    ...extraFields,
  })
}

/** What a failure in the form of another API has besides the fields of that form. */
export function toGatewayFields(x: Pick<Exchange, 'id' | 'debug'>, { code, stage, actions, messageZh }: GatewayError): object {
  return { ok: false, requestId: x.id, code, stage, actions, messageZh, debug: x.debug }
}

/** The complete response of a failure if nothing has been sent. */
export function toEnvelopeReply(
  x: FailedExchange &
    Pick<Exchange, 'responseRequestId' | 'siteUrl' | 'headers' | 'translation'> & {
      readonly inbound: Pick<Inbound, 'headers'> & Partial<Pick<Inbound, 'method' | 'path'>>
    },
  failure: GatewayError,
): Reply {
  const { details } = failure
  const headers: Record<string, string> = {
    ...x.headers,
    ...details.headers,
    ...toRequestIdHeaders(x),
    ...jsonHeaders,
    'cache-control': 'no-store',
    [x.names.errorCodeHeader]: failure.code,
    [x.names.errorStageHeader]: failure.stage,
    link: toHelpLink(x.siteUrl, failure.code),
  }
  if (details.retryAfter !== undefined) headers['retry-after'] = String(Math.max(1, Math.ceil(details.retryAfter)))
  if (details.shouldRetry !== undefined) headers['x-should-retry'] = String(details.shouldRetry)
  if (failure.status === 401) headers['www-authenticate'] ??= `Bearer realm="${x.names.slug}"`
  if (isOperatorRequest(x.inbound)) {
    const problemHeaders = { ...headers, 'content-type': 'application/problem+json' }
    return { status: failure.status, headers: problemHeaders, body: toProblemJson(x, failure) }
  }
  const body = isMcpMessage(x.inbound) ? toJsonRpcError(x, failure) : toEnvelopeJson(x, failure)
  const reply = { status: failure.status, headers, body }
  return x.translation === undefined ? reply : x.translation.toFailureReply(x, failure, reply)
}

/** RFC 8288. The address of the page that explains the code is a header, because the specification closes the envelope's list of fields. */
function toHelpLink(siteUrl: string, code: ErrorCode): string {
  return `<${siteUrl}/docs/errors#${code}>; rel="help"`
}

/** The sentence of a failure and the reference for the operator, for programs that show a text and nothing else. */
export function describeFailure({ id, debug }: Pick<Exchange, 'id' | 'debug'>, failure: GatewayError): string {
  const { code, stage, status, message } = failure
  const up = debug.upstreamStatus === undefined ? '' : ` · up=${debug.upstreamStatus}`
  return `${message}\nRef: ${id} · ${code} · stage=${stage} · HTTP ${status}${up}`
}

function isMcpMessage({ method, path }: Partial<Pick<Inbound, 'method' | 'path'>>): boolean {
  return method === 'POST' && path === '/v1/mcp'
}

function isOperatorRequest({ path }: Partial<Pick<Inbound, 'path'>>): boolean {
  return path?.startsWith('/api/operator/v1/') === true
}

/** RFC 9457. The codes are the same as everywhere. */
function toProblemJson({ id, siteUrl }: Pick<Exchange, 'id' | 'siteUrl'>, failure: GatewayError): string {
  const { code, status, message, messageZh, actions, details } = failure
  return JSON.stringify({
    type: `${siteUrl}/docs/errors#${code}`,
    title: code,
    status,
    detail: message,
    instance: id,
    code,
    param: details.param ?? null,
    detail_zh: messageZh,
    actions,
  })
}

/** JSON-RPC 2.0, 5.1. Other failures have a code of the range for servers. */
const rpcCodes: Readonly<Partial<Record<ErrorCode, number>>> = { invalid_request: -32_600, internal_error: -32_603 }
const rpcServerError = -32_000

/** An MCP client shows the message of a JSON-RPC error only. The message's id is null, because most refusals precede the reading of the body. */
function toJsonRpcError(x: Pick<Exchange, 'id' | 'debug'>, failure: GatewayError): string {
  const { code, stage, actions, messageZh } = failure
  const data = { requestId: x.id, code, stage, actions, messageZh }
  const error = { code: rpcCodes[code] ?? rpcServerError, message: describeFailure(x, failure), data }
  return JSON.stringify({ jsonrpc: '2.0', id: null, error })
}

/** The headers that identify the exchange in every response. */
export function toRequestIdHeaders(
  x: Pick<Exchange, 'id' | 'responseRequestId' | 'names' | 'translation'>,
): Record<string, string> {
  const headers = { 'x-request-id': x.id, [x.names.requestIdHeader]: x.responseRequestId }
  // The SDKs of the Messages API read this name alone.
  return x.translation?.format === 'messages' ? { ...headers, 'request-id': x.id } : headers
}
