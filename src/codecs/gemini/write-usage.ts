/** Usage in the form of the API: thoughts are beside the candidates. */
import { isFields } from './read-json.ts'

export function toUsageMetadata(usage: unknown, inputEstimate: number): Readonly<Record<string, number>> {
  const {
    prompt_tokens: prompt,
    completion_tokens: completion,
    prompt_tokens_details: promptDetails,
    completion_tokens_details: details,
  } = isFields(usage) ? usage : {}
  const input = typeof prompt === 'number' ? toCount(prompt) : inputEstimate
  const output = toCount(completion)
  const thoughts = Math.min(output, isFields(details) ? toCount(details['reasoning_tokens']) : 0)
  const cached = Math.min(input, isFields(promptDetails) ? toCount(promptDetails['cached_tokens']) : 0)
  return {
    promptTokenCount: input,
    candidatesTokenCount: output - thoughts,
    ...(thoughts === 0 ? {} : { thoughtsTokenCount: thoughts }),
    ...(cached === 0 ? {} : { cachedContentTokenCount: cached }),
    totalTokenCount: input + output,
  }
}

function toCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0
}
