/** Results of a tool call: the document, or a failure in a sentence that a model can pass on. */
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { GatewayError } from '../../errors.ts'
import { describeFailure } from '../../exchange/envelope.ts'
import type { Exchange, Slots } from '../../exchange/exchange.ts'
import { getTurnCharge, toChargeFields } from '../../exchange/turn-charge.ts'
import { ownJsonBounds, parseJson } from '../../system/parse-json.ts'

/** With the charge beside the document, because the headers of its answer may have left before the call. */
export function toDocumentResult(x: Exchange & Partial<Slots>, json: string): CallToolResult {
  const charge = getTurnCharge(x)
  return {
    content: [{ type: 'text', text: json }],
    structuredContent: parseJson(json, ownJsonBounds) as Record<string, unknown>,
    _meta: { requestId: x.id, ...(charge === undefined ? {} : { charge: toChargeFields(charge) }) },
  }
}

export function toFailureResult(x: Pick<Exchange, 'id' | 'debug'>, failure: GatewayError): CallToolResult {
  const { code, stage } = failure
  const { quotaRefunded } = x.debug
  const refundField = quotaRefunded === undefined ? {} : { quotaRefunded }
  return {
    isError: true,
    content: [{ type: 'text', text: describeFailure(x, failure) }],
    _meta: { requestId: x.id, code, stage, ...refundField },
  }
}
