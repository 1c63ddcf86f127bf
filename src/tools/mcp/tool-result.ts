/** What a tool call comes to: the document, or a failure in words that a model can pass on. */
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { GatewayError } from '../../errors.ts'
import type { Exchange } from '../../exchange/exchange.ts'

export function documentResult(json: string): CallToolResult {
  return { content: [{ type: 'text', text: json }], structuredContent: JSON.parse(json) as Record<string, unknown> }
}

export function failureResult(x: Pick<Exchange, 'id' | 'debug'>, failure: GatewayError): CallToolResult {
  const { code, stage, status, message } = failure
  const { upstreamStatus, quotaRefunded } = x.debug
  const up = upstreamStatus === undefined ? '' : ` · up=${upstreamStatus}`
  const text = `${message}\nRef: ${x.id} · ${code} · stage=${stage} · HTTP ${status}${up}`
  const refunded = quotaRefunded === undefined ? {} : { quotaRefunded }
  return { isError: true, content: [{ type: 'text', text }], _meta: { requestId: x.id, code, stage, ...refunded } }
}
