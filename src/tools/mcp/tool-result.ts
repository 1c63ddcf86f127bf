/** Results of a tool call: the document, or a failure in a sentence that a model can pass on. */
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { GatewayError } from '../../errors.ts'
import { describeFailure } from '../../exchange/envelope.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import { ownJsonBounds, parseJson } from '../../system/parse-json.ts'

export function toDocumentResult(json: string): CallToolResult {
  return { content: [{ type: 'text', text: json }], structuredContent: parseJson(json, ownJsonBounds) as Record<string, unknown> }
}

export function toFailureResult(x: Pick<Exchange, 'id' | 'debug'>, failure: GatewayError): CallToolResult {
  const { code, stage } = failure
  const { quotaRefunded } = x.debug
  const refunded = quotaRefunded === undefined ? {} : { quotaRefunded }
  return {
    isError: true,
    content: [{ type: 'text', text: describeFailure(x, failure) }],
    _meta: { requestId: x.id, code, stage, ...refunded },
  }
}
