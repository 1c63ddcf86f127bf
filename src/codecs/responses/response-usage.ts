/** Usage of one answer, in both directions. */
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import type { AnswerUsage } from '../../conversation/answer-event.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import { toCount, toFields } from '../shared/read-json.ts'
import { countReasoningBeside, readChatUsage, toChatUsage } from '../shared/token-counts.ts'

/** As a chat completion reports it. Null without a report. */
export function readResponseUsage(usage: unknown): AnswerUsage | null {
  if (!isRecord(usage)) return null
  const { input_tokens: input, output_tokens: output } = usage
  if (typeof input !== 'number' || typeof output !== 'number') return null
  const { cached_tokens: cachedTokens, cache_write_tokens: write } = toFields(usage['input_tokens_details'])
  const reasoning = toCount(toFields(usage['output_tokens_details'])['reasoning_tokens'])
  const writtenTokens = write === undefined ? undefined : toCount(write)
  const beside = countReasoningBeside({ sum: input + output, total: toCount(usage['total_tokens']), reasoning })
  return toChatUsage({ input, cached: toCount(cachedTokens), written: writtenTokens, output: output + beside, reasoning })
}

/** All three counts are needed: Codex repeats a turn whose usage lacks one. */
export function toResponseUsage(usage: AnswerUsage): JsonObject {
  const { input, cached, output, reasoning } = readChatUsage(usage)
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  }
}
