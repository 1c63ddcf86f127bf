/** Usage of one answer, in both directions. Thoughts are beside the candidates, and results of the upstream's own tools beside the prompt. */
import type { AnswerUsage } from '../../conversation/answer-event.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import { toCount } from '../shared/read-json.ts'
import { readChatUsage, toChatUsage } from '../shared/token-counts.ts'

/** As a chat completion reports it. Null without a report. */
export function readUsageMetadata(metadata: unknown): AnswerUsage | null {
  if (!isRecord(metadata) || typeof metadata['promptTokenCount'] !== 'number') return null
  const reasoning = toCount(metadata['thoughtsTokenCount'])
  const input = toCount(metadata['promptTokenCount']) + toCount(metadata['toolUsePromptTokenCount'])
  const candidates = toCount(metadata['candidatesTokenCount'])
  // Servers that stand in for the API may count thoughts as candidates too.
  const includesThoughts = candidates >= reasoning && metadata['totalTokenCount'] === input + candidates
  return toChatUsage({
    input,
    cached: toCount(metadata['cachedContentTokenCount']),
    output: includesThoughts ? candidates : candidates + reasoning,
    reasoning,
  })
}

export function toUsageMetadata(usage: unknown, inputEstimate: number): Readonly<Record<string, number>> {
  const { input, cached, output, reasoning } = readChatUsage(usage, inputEstimate)
  return {
    promptTokenCount: input,
    candidatesTokenCount: output - reasoning,
    ...(reasoning === 0 ? {} : { thoughtsTokenCount: reasoning }),
    ...(cached === 0 ? {} : { cachedContentTokenCount: cached }),
    totalTokenCount: input + output,
  }
}
