/** Writes what a decoder has read as chunks of a chat completion, or as a whole one. */
import { callSignaturesField } from '../../exchange/request/gemini-fields.ts'
import type { DecodedEvent } from './generate-decoder.ts'
import type { Fields } from './read-json.ts'
import { toSignatureFields } from './thought-signatures.ts'

interface ChunkOptions {
  /** Unix milliseconds. */
  readonly startedAt: number
  /** The client uses another API than chat completions, whose calls have no place for signatures. */
  readonly isTranslated: boolean
}

export class AnswerChunks {
  readonly #options: ChunkOptions
  #head: Fields = {}

  constructor(options: ChunkOptions) {
    this.#options = options
  }

  toChunk(event: DecodedEvent): Record<string, unknown> | null {
    switch (event.kind) {
      case 'start':
        this.#setHead('chat.completion.chunk', event)
        return this.#toDelta({ role: 'assistant', content: '' })
      case 'error':
        return { error: event.error }
      case 'usage':
        return { ...this.#head, choices: [], usage: event.usage }
      case 'finish':
        return { ...this.#head, choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: event.reason }] }
      default: {
        const delta = this.#toFields(event)
        return delta === null ? null : this.#toDelta(delta)
      }
    }
  }

  toCompletion(events: readonly DecodedEvent[]): Record<string, unknown> {
    const failed = events.find((event) => event.kind === 'error')
    if (failed !== undefined) return { error: failed.error }
    const message: Record<string, unknown> = { role: 'assistant', content: null, refusal: null }
    let finish: string | null = null
    let usage: Fields | undefined
    for (const event of events) {
      if (event.kind === 'start') this.#setHead('chat.completion', event)
      else if (event.kind === 'finish') finish = event.reason
      else if (event.kind === 'usage') ({ usage } = event)
      else addFields(message, this.#toFields(event) ?? {})
    }
    const { tool_calls: calls, content } = message
    if (content === null && calls === undefined) message['content'] = ''
    return { ...this.#head, choices: [{ index: 0, message, logprobs: null, finish_reason: finish }], usage }
  }

  #setHead(object: string, { id, model }: Extract<DecodedEvent, { kind: 'start' }>): void {
    this.#head = { id: id === '' ? 'gemini' : id, object, created: Math.floor(this.#options.startedAt / 1000), model }
  }

  #toDelta(delta: Fields): Record<string, unknown> {
    return { ...this.#head, choices: [{ index: 0, delta, logprobs: null, finish_reason: null }] }
  }

  #toFields(event: DecodedEvent): Fields | null {
    switch (event.kind) {
      case 'text':
        return { content: event.text }
      case 'reasoning':
        return { reasoning_content: event.text }
      case 'image':
        return { images: [{ type: 'image_url', image_url: { url: event.url } }] }
      case 'text-signature': {
        const signed = toSignatureFields(event.signature)
        return this.#options.isTranslated ? { [callSignaturesField]: [signed] } : signed
      }
      case 'call': {
        const { index, id, name, arguments: args, signature } = event
        const signed = toSignatureFields(signature)
        const call = { index, id, type: 'function', function: { name, arguments: args } }
        if (!this.#options.isTranslated) return { tool_calls: [{ ...call, ...signed }] }
        return { tool_calls: [call], ...(signature === '' ? {} : { [callSignaturesField]: [{ id, ...signed }] }) }
      }
      default:
        return null
    }
  }
}

/** Texts are joined, and lists appended. */
function addFields(message: Record<string, unknown>, fields: Fields): void {
  for (const [name, value] of Object.entries(fields)) {
    const before = message[name]
    if (typeof before === 'string' && typeof value === 'string') message[name] = before + value
    else if (Array.isArray(before) && Array.isArray(value)) before.push(...(value as unknown[]))
    else message[name] = Array.isArray(value) ? [...(value as unknown[])] : value
  }
}
