/** Tokens of an answer between the usage of a chat completion and that of another API. */
import type { AnswerUsage } from '../../conversation/answer-event.ts'
import { toCount, toFields } from './read-json.ts'

export interface TokenCounts {
  /** With those that were read from the cache, or written to it. */
  readonly input: number
  readonly cached: number
  /** Undefined where the API does not report it. */
  readonly written?: number | undefined
  /** With those of reasoning. */
  readonly output: number
  readonly reasoning: number
}

/**
 * Reasoning that is no part of the output: xAI, Vertex and Gemini's compatible endpoint add it to the total only. 0 where the total is the sum
 * of input and output, as OpenAI's is.
 */
export function countReasoningBeside({ sum, total, reasoning }: Readonly<Record<'sum' | 'total' | 'reasoning', number>>): number {
  return Math.max(0, Math.min(total - sum, reasoning))
}

export function toChatUsage({ input, cached, written, output, reasoning }: TokenCounts): AnswerUsage {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, ...(written === undefined ? {} : { cache_creation_tokens: written }) },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
}

/** Whole numbers, and no part above its whole. @param inputEstimate of a usage without a prompt */
export function readChatUsage(usage: unknown, inputEstimate = 0): TokenCounts & { readonly written: number } {
  const { prompt_tokens: prompt, completion_tokens: completion, ...details } = toFields(usage)
  const { cached_tokens: cacheReadTokens, cache_creation_tokens: cacheCreationTokens } = toFields(
    details['prompt_tokens_details'],
  )
  const { reasoning_tokens: thought } = toFields(details['completion_tokens_details'])
  const input = typeof prompt === 'number' ? Math.round(toCount(prompt)) : inputEstimate
  const output = Math.round(toCount(completion))
  const cachedTokens = Math.min(input, Math.round(toCount(cacheReadTokens)))
  const writtenTokens = Math.min(input - cachedTokens, Math.round(toCount(cacheCreationTokens)))
  return {
    input,
    cached: cachedTokens,
    written: writtenTokens,
    output,
    reasoning: Math.min(output, Math.round(toCount(thought))),
  }
}
