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
  const document = documentOf(text, upstreamHost)
  let outputBytes = 0
  for (const { message } of choicesOf(document, upstreamHost)) outputBytes += producedBytes(message)
  const { usage } = document
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

/** A JSON object that does not say that it is an error. @throws UpstreamFailure */
export function documentOf(text: string, upstreamHost: string | null): Record<string, unknown> {
  if (text.trim() === '') throw failed('empty', upstreamHost)
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    throw failed('not_json', upstreamHost)
  }
  if (!isRecord(document)) throw failed('not_json', upstreamHost)
  const { error } = document
  if (error !== undefined && error !== null) throw failed('error_object', upstreamHost, error)
  if (document['object'] === 'error' || document['type'] === 'error') throw failed('error_object', upstreamHost, document)
  return document
}

/** The choices of a completion, each of which has come to a good end. @throws UpstreamFailure */
export function choicesOf({ choices }: Record<string, unknown>, upstreamHost: string | null): Record<string, unknown>[] {
  if (!Array.isArray(choices) || choices.length === 0) throw failed('empty', upstreamHost)
  return choices.map((choice: unknown) => {
    if (!isRecord(choice)) throw failed('empty', upstreamHost)
    if (choice['error'] !== undefined && choice['error'] !== null) throw failed('error_object', upstreamHost, choice['error'])
    const finish = choice['finish_reason']
    if (typeof finish !== 'string') throw failed('no_finish', upstreamHost)
    if (badFinishes.has(finish)) throw failed('bad_finish', upstreamHost)
    return choice
  })
}

function failed(
  reason: 'not_json' | 'empty' | 'error_object' | 'bad_finish' | 'no_finish',
  upstreamHost: string | null,
  error?: unknown,
): UpstreamFailure {
  return new UpstreamFailure({ kind: 'in_band', status: 200, reason, ...(error === undefined ? {} : { error }) }, upstreamHost)
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
