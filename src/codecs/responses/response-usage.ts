/** Usage of one answer. */
import type { AnswerUsage } from '../../conversation/answer-event.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'

/** As a chat completion reports it. Null without a report. */
export function toChatUsage(usage: unknown): AnswerUsage | null {
  if (!isRecord(usage)) return null
  const { input_tokens: input, output_tokens: output } = usage
  if (typeof input !== 'number' || typeof output !== 'number') return null
  const { cached_tokens: cached, cache_write_tokens: written } = readDetails(usage['input_tokens_details'])
  const { reasoning_tokens: reasoning } = readDetails(usage['output_tokens_details'])
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: {
      cached_tokens: toCount(cached),
      ...(written === undefined ? {} : { cache_creation_tokens: toCount(written) }),
    },
    completion_tokens_details: { reasoning_tokens: toCount(reasoning) },
  }
}

function readDetails(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {}
}

function toCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}
