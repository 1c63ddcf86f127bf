/** The fields of an answer: ids, reasons to stop, and usage. */
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { parseJson } from '../../system/parse-json.ts'

export function toMessageId(requestId: string): string {
  return `msg_${requestId}`
}

interface Ending {
  readonly finishReason: string | null
  readonly stopSequence: string | null
  readonly hasCalls: boolean
}

/**
 * `refusal` is not used: Claude Code repeats the turn after it and hides the text. A call decides over the reason of the upstream, because an
 * agent would otherwise stop.
 */
export function toStopReason({ finishReason, stopSequence, hasCalls }: Ending): {
  stop_reason: string
  stop_sequence: string | null
} {
  if (finishReason === 'length') return { stop_reason: 'max_tokens', stop_sequence: null }
  if (hasCalls) return { stop_reason: 'tool_use', stop_sequence: null }
  if (stopSequence !== null) return { stop_reason: 'stop_sequence', stop_sequence: stopSequence }
  return { stop_reason: 'end_turn', stop_sequence: null }
}

/** Shown in place of an answer without text and without a call, which Claude Code would request once more. */
export function toEmptyAnswerText(finishReason: string | null): string {
  if (finishReason === 'content_filter') return 'The answer was withheld by the content policy.'
  return finishReason === 'length' ? '(The output limit was reached before an answer began.)' : '(The model gave no answer.)'
}

/** Fields of an answer without content here. The API always sends them, and the SDKs declare them as required. */
export const emptyFields = { stop_details: null, container: null } as const
export const emptyMessageFields = { ...emptyFields, diagnostics: null } as const
export const emptyUsageFields = { cache_creation: null, inference_geo: null, service_tier: 'standard', speed: null } as const

/** Who makes a call: the model itself, and not a program of the provider. */
export const caller = { type: 'direct' } as const

/** Tokens that were read from the cache, or written to it, are not part of `input_tokens` here. */
export function toUsage(usage: unknown, inputEstimate: number): Readonly<Record<string, unknown>> {
  const {
    prompt_tokens: prompt,
    completion_tokens: completion,
    prompt_tokens_details,
    completion_tokens_details,
  } = isRecord(usage) ? usage : {}
  const cached = isRecord(prompt_tokens_details) ? toCount(prompt_tokens_details['cached_tokens']) : 0
  const created = isRecord(prompt_tokens_details) ? toCount(prompt_tokens_details['cache_creation_tokens']) : 0
  const thinking = isRecord(completion_tokens_details) ? toCount(completion_tokens_details['reasoning_tokens']) : 0
  const input = typeof prompt === 'number' ? toCount(prompt) : inputEstimate
  return {
    input_tokens: Math.max(0, input - cached - created),
    output_tokens: toCount(completion),
    cache_creation_input_tokens: Math.min(created, Math.max(0, input - cached)),
    cache_read_input_tokens: Math.min(cached, input),
    output_tokens_details: { thinking_tokens: thinking },
    server_tool_use: null,
  }
}

function toCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0
}

/** The input of a call. Arguments that are no JSON object are passed as text, so that the client reports them to the model. */
export function parseInput(text: string): JsonObject {
  if (text.trim() === '') return {}
  try {
    const input: unknown = parseJson(text)
    if (isRecord(input)) return input
  } catch {
    // Passed as text below.
  }
  return { invalid_arguments: text }
}
