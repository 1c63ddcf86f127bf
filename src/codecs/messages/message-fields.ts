/** The fields of an answer: ids, reasons to stop, and usage. */
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { readChatUsage } from '../shared/token-counts.ts'

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
export function toUsage(usage: unknown, inputEstimate: number): JsonObject {
  const { input, cached, written, output, reasoning } = readChatUsage(usage, inputEstimate)
  return {
    input_tokens: input - cached - written,
    output_tokens: output,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens_details: { thinking_tokens: reasoning },
    server_tool_use: null,
  }
}
