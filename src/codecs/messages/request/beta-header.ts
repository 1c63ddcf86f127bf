/**
 * Names in `anthropic-beta` that a request of a client of this API needs, as its fields are refused without them. Others cost more, or reach
 * files and programs of the operator's account.
 */
import { readPreparedParts } from '../../../exchange/request/prepared-parts.ts'
import type { Inbound } from '../../../exchange/exchange.ts'
import type { JsonObject as JsonFields } from '../../../exchange/api-format/api-format.ts'

const passedBetas =
  /^(?:claude-code|interleaved-thinking|context-management|mid-conversation-[a-z-]+|per-turn-control|thinking-[a-z-]+|redact-thinking|advanced-tool-use|tool-search-tool|tool-examples|fine-grained-tool-streaming|token-efficient-tools|structured-outputs|effort|prompt-caching-scope)-\d{4}-?\d{2}-?\d{2}$/

/** Longer values name nothing that is passed. */
const maxHeaderLength = 2_048

export function toBetaHeader(
  chat: JsonFields,
  sent: Inbound['headers'],
  configured: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const value = sent['anthropic-beta']
  const parts = readPreparedParts(chat)
  if (parts?.facts['isNative'] !== true || value === undefined) return {}
  const ownBetas = String(value)
    .slice(0, maxHeaderLength)
    .split(',')
    .map((name) => name.trim())
    .filter((name) => passedBetas.test(name))
  const { 'anthropic-beta': operators } = configured
  const names = new Set([...(operators === undefined ? [] : operators.split(',').map((name) => name.trim())), ...ownBetas])
  return ownBetas.length === 0 ? {} : { 'anthropic-beta': [...names].join(',') }
}
