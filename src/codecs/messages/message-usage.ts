/** Usage of one answer. The prompt is reported in three parts, and reports arrive in two events. */
import type { AnswerUsage } from '../../conversation/answer-event.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import { toCount } from '../shared/read-json.ts'
import { toChatUsage } from '../shared/token-counts.ts'

const promptFields = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'] as const

export class MessageUsage {
  readonly #counts = new Map<string, number>()

  /** Counts are cumulative. Some servers repeat those of the prompt as 0 at the end, and others move some of them to the cache. */
  add(usage: unknown): void {
    if (!isRecord(usage)) return
    const hasPrompt = promptFields.some((field) => toCount(usage[field]) > 0)
    for (const field of promptFields) this.#set(field, usage[field], hasPrompt)
    this.#set('output_tokens', usage['output_tokens'])
    const { output_tokens_details: details } = usage
    if (isRecord(details)) this.#set('thinking_tokens', details['thinking_tokens'])
  }

  /** As a chat completion reports it: `prompt_tokens` includes cached tokens. Null without a report. */
  toChatUsage(): AnswerUsage | null {
    const [input, output] = [this.#counts.get('input_tokens'), this.#counts.get('output_tokens')]
    if (input === undefined || output === undefined) return null
    const cacheReadTokens = this.#counts.get('cache_read_input_tokens') ?? 0
    const cacheCreationTokens = this.#counts.get('cache_creation_input_tokens') ?? 0
    const reasoning = this.#counts.get('thinking_tokens') ?? 0
    return toChatUsage({
      input: input + cacheReadTokens + cacheCreationTokens,
      cached: cacheReadTokens,
      written: cacheCreationTokens,
      output,
      reasoning,
    })
  }

  #set(field: string, value: unknown, replacesByZero = false): void {
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return
    this.#counts.set(field, value === 0 && !replacesByZero ? (this.#counts.get(field) ?? 0) : value)
  }
}
