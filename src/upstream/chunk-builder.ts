/** Builds the chunks of a chat completion that an answer of another API is translated to. */
import type { JsonFields } from './upstream-format.ts'

type JsonChunk = Record<string, unknown>

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

  toDelta(delta: JsonFields, logprobs: unknown = null): JsonChunk {
    return this.toChunk([{ index: 0, delta, logprobs, finish_reason: null }])
  }

  /** `finish`: the finish reason and what explains it. */
  toEnd(finish: JsonFields): JsonChunk {
    return this.toChunk([{ index: 0, delta: {}, logprobs: null, ...finish }])
  }

  toChunk(choices: readonly JsonFields[], usage?: JsonFields): JsonChunk {
    return usage === undefined ? { ...this.#head, choices } : { ...this.#head, choices, usage }
  }
}

/** A string; empty for any other value. */
export function toText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
