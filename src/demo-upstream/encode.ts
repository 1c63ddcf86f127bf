/** Encodes answers in OpenAI's format, whole or as the chunks of a stream. */
import type { DemoAnswer } from './answer.ts'

export interface AnswerFrame {
  readonly id: string
  /** Unix seconds. */
  readonly created: number
  readonly model: string
  /** Number of choices requested. */
  readonly n: number
}

export function encodeWhole(answer: DemoAnswer, frame: AnswerFrame): object {
  const choices = Array.from({ length: frame.n }, (_, index) => ({
    index,
    message: toMessage(answer, answer.tokens.join('')),
    logprobs: null,
    finish_reason: answer.finish,
  }))
  return { ...head('chat.completion', frame), choices, usage: toUsage(answer, frame.n), ...searchFields(answer) }
}

/** The chunks of a stream in order, without its end. */
export function* encodeChunks(answer: DemoAnswer, frame: AnswerFrame, includeUsage: boolean): Generator<object> {
  const base = head('chat.completion.chunk', frame)
  const toChunks = (delta: object, finish: string | null = null, more: object = {}): object[] =>
    Array.from({ length: frame.n }, (_, index) => ({
      ...base,
      choices: [{ index, delta, logprobs: null, finish_reason: finish }],
      ...more,
    }))
  yield* toChunks(firstDelta(answer))
  for (const token of answer.tokens) yield* toChunks(nextDelta(answer, token))
  if (answer.images.length > 0) yield* toChunks({ images: answer.images.map(toImagePart) }).slice(0, 1)
  yield* toChunks({}, answer.finish, searchFields(answer))
  if (includeUsage) yield { ...base, choices: [], usage: toUsage(answer, frame.n) }
}

export function head(object: string, { id, created, model }: AnswerFrame): object {
  return { id, object, created, model, system_fingerprint: 'fp_demo' }
}

export function toMessage({ toolCall, images }: DemoAnswer, text: string): object {
  if (toolCall !== null) return { role: 'assistant', content: null, refusal: null, tool_calls: [toToolCall(toolCall, text)] }
  return { role: 'assistant', content: text, refusal: null, ...(images.length > 0 && { images: images.map(toImagePart) }) }
}

export function firstDelta({ toolCall }: DemoAnswer): object {
  if (toolCall === null) return { role: 'assistant', content: '' }
  return { role: 'assistant', content: null, tool_calls: [{ index: 0, ...toToolCall(toolCall, '') }] }
}

export function nextDelta({ toolCall }: DemoAnswer, token: string): object {
  if (toolCall === null) return { content: token }
  return { tool_calls: [{ index: 0, ...(toolCall.custom ? { custom: { input: token } } : { function: { arguments: token } }) }] }
}

function toToolCall({ name, custom }: NonNullable<DemoAnswer['toolCall']>, text: string): object {
  const id = 'call_demo_1'
  if (custom) return { id, type: 'custom', custom: { name, input: text } }
  return { id, type: 'function', function: { name, arguments: text } }
}

export function toImagePart(url: string, index: number): object {
  return { index, type: 'image_url', image_url: { url } }
}

export function searchFields({ search }: DemoAnswer): object {
  return search === null ? {} : { citations: search.citations, search_results: search.results }
}

export function toUsage({ promptTokens, tokens, search }: DemoAnswer, n: number): object {
  const completion = tokens.length * n
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completion,
    total_tokens: promptTokens + completion,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
    ...(search === null ? {} : { num_search_queries: 1 }),
  }
}
