/** Builds the chunks of a chat completion that an answer of another API is translated to. */
import { isRecord } from '../exchange/request/chat-request.ts'
import type { ServerEvent } from './response/sse.ts'
import type { JsonFields } from './upstream-format.ts'
import { parseJson } from '../system/parse-json.ts'

export class ChunkBuilder {
  readonly #created: number
  readonly #idPrefix: string
  #head: JsonFields = {}

  /** @param startedAt Unix milliseconds */
  constructor(startedAt: number, idPrefix: string) {
    this.#created = Math.floor(startedAt / 1000)
    this.#idPrefix = idPrefix
  }

  /** The fields that every chunk repeats. */
  get head(): JsonFields {
    return this.#head
  }

  setHead({ id, model }: JsonFields): void {
    this.#head = {
      id: typeof id === 'string' ? id : this.#idPrefix,
      object: 'chat.completion.chunk',
      created: this.#created,
      model: model ?? '',
    }
  }

  toDelta(delta: JsonFields, logprobs: unknown = null): ServerEvent {
    return this.toChunk([{ index: 0, delta, logprobs, finish_reason: null }])
  }

  /** `finish`: the finish reason and what explains it. */
  toEnd(finish: JsonFields): ServerEvent {
    return this.toChunk([{ index: 0, delta: {}, logprobs: null, ...finish }])
  }

  toChunk(choices: readonly JsonFields[], usage?: JsonFields): ServerEvent {
    return toEvent(JSON.stringify({ ...this.#head, choices, usage }))
  }
}

export function toEvent(data: string): ServerEvent {
  return { data, isError: false }
}

export const doneEvent = toEvent('[DONE]')

/** Null for a text that is no JSON object. */
export function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = parseJson(text)
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}

/** A string; empty for any other value. */
export function toText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
