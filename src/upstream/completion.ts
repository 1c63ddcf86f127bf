/** A whole answer: the upstream's document judged, metered, and given the product's name. */
import { isRecord } from '../exchange/chat-request.ts'
import type { Answer, Route } from '../exchange/exchange.ts'
import { UpstreamFailure } from './failure.ts'
import { tokensOfBytes, usageOf, withCachedTokens } from './usage.ts'

const badFinishes = new Set(['error', 'abort', 'insufficient_system_resource'])

/** @throws UpstreamFailure when the 200 is no success */
export function completionOf(
  text: string,
  route: Pick<Route, 'productId' | 'inputEstimate'>,
  upstreamHost: string | null,
): Answer {
  const fail = (reason: 'not_json' | 'empty' | 'error_object' | 'bad_finish' | 'no_finish', error?: unknown): UpstreamFailure =>
    new UpstreamFailure({ kind: 'in_band', status: 200, reason, ...(error === undefined ? {} : { error }) }, upstreamHost)
  if (text.trim() === '') throw fail('empty')
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    throw fail('not_json')
  }
  if (!isRecord(document)) throw fail('not_json')
  const { error, choices, usage } = document
  if (error !== undefined && error !== null) throw fail('error_object', error)
  if (document['object'] === 'error' || document['type'] === 'error') throw fail('error_object', document)
  if (!Array.isArray(choices) || choices.length === 0) throw fail('empty')
  let outputBytes = 0
  for (const choice of choices as unknown[]) {
    if (!isRecord(choice)) throw fail('empty')
    if (choice['error'] !== undefined && choice['error'] !== null) throw fail('error_object', choice['error'])
    const finish = choice['finish_reason']
    if (typeof finish !== 'string') throw fail('no_finish')
    if (badFinishes.has(finish)) throw fail('bad_finish')
    outputBytes += producedBytes(choice['message'])
  }
  const body = { ...document, model: route.productId, ...(isRecord(usage) ? { usage: withCachedTokens(usage) } : {}) }
  const reported = usageOf(usage)
  return {
    usage:
      reported === null
        ? { inputTokens: route.inputEstimate, outputTokens: tokensOfBytes(outputBytes), estimated: true }
        : { ...reported, estimated: false },
    last: { kind: 'reply', reply: { status: 200, headers: jsonHeaders, body: JSON.stringify(body) } },
  }
}

const jsonHeaders = { 'content-type': 'application/json; charset=utf-8' }

function producedBytes(message: unknown): number {
  if (!isRecord(message)) return 0
  let bytes = 0
  for (const field of ['content', 'reasoning_content', 'reasoning', 'refusal']) {
    const value = message[field]
    if (typeof value === 'string') bytes += Buffer.byteLength(value)
  }
  return bytes + (Array.isArray(message['tool_calls']) ? JSON.stringify(message['tool_calls']).length : 0)
}
