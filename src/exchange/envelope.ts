/** The envelope: the one shape in which every failure reaches a caller. */
import type { GatewayError } from '../errors.ts'
import type { Exchange, Reply } from './exchange.ts'
import { jsonHeaders } from './headers.ts'
import { endMark } from './stream.ts'

/** The end of a stream that failed: its status too, because the answer's own has been said and is 200. */
export function envelopeFrames(x: Pick<Exchange, 'id' | 'debug'>, failure: GatewayError): string {
  return `data: ${envelopeJson(x, failure, { status: failure.status })}\n\n${endMark}`
}

/** The body of a failure, as JSON text on one line. */
function envelopeJson(x: Pick<Exchange, 'id' | 'debug'>, failure: GatewayError, more: { readonly status?: number } = {}): string {
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
    ...more,
  })
}

/** The whole answer for a failure nobody has seen anything of yet. */
export function envelopeReply(x: Pick<Exchange, 'id' | 'echo' | 'names' | 'debug' | 'headers'>, failure: GatewayError): Reply {
  const { details } = failure
  const headers: Record<string, string> = {
    ...x.headers,
    ...details.headers,
    ...traceHeaders(x),
    ...jsonHeaders,
    'cache-control': 'no-store',
    [x.names.errorCodeHeader]: failure.code,
    [x.names.errorStageHeader]: failure.stage,
  }
  if (details.retryAfter !== undefined) headers['retry-after'] = String(Math.max(1, Math.ceil(details.retryAfter)))
  if (details.shouldRetry !== undefined) headers['x-should-retry'] = String(details.shouldRetry)
  if (failure.status === 401) headers['www-authenticate'] ??= `Bearer realm="${x.names.slug}"`
  return { status: failure.status, headers, body: envelopeJson(x, failure) }
}

/** The headers by which every answer names its exchange. */
export function traceHeaders(x: Pick<Exchange, 'id' | 'echo' | 'names'>): Record<string, string> {
  return { 'x-request-id': x.id, [x.names.requestIdHeader]: x.echo }
}
