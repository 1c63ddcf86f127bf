/** Usage of one answer. Thoughts are beside the candidates, and results of the upstream's own tools beside the prompt. */
import type { AnswerUsage } from '../../conversation/answer-event.ts'
import { isFields } from './read-json.ts'

/** As a chat completion reports it. Null without a report. */
export function toChatUsage(metadata: unknown): AnswerUsage | null {
  if (!isFields(metadata) || typeof metadata['promptTokenCount'] !== 'number') return null
  const prompt = readCount(metadata['promptTokenCount']) + readCount(metadata['toolUsePromptTokenCount'])
  const thoughts = readCount(metadata['thoughtsTokenCount'])
  const completion = readCount(metadata['candidatesTokenCount']) + thoughts
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: readCount(metadata['cachedContentTokenCount']) },
    completion_tokens_details: { reasoning_tokens: thoughts },
  }
}

function readCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}
