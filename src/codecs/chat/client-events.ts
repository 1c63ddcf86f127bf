/**
 * Converts the chunks of a stream to the client's events: one line of JSON each, or the events of another API format. The upstream's model id
 * becomes the product's; the usage chunk is held until the end.
 */
import type { AnswerEncoder, JsonObject } from '../../exchange/api-format/api-format.ts'
import type { AnswerEvent, AnswerUsage } from '../../conversation/answer-event.ts'
import { ChatEncoder } from './chat-encoder.ts'
import type { ChatAnswerContext } from './chat-encoder.ts'
import { doneEvent } from '../../exchange/response-headers.ts'
import { PictureJoiner } from './picture-parts.ts'
import { readAnswerEvents } from './read-events.ts'
import { StreamedCitations } from './clamp-citations.ts'
import { needsNoFilter, hasContentFields, filterResponse } from './response-filter.ts'
import type { FieldAllowlist } from './response-filter.ts'
import type { LearnedTemplate, TextField } from './chunk-template.ts'
import type { AnswerSink } from '../answer-sink.ts'

interface ClientEventsOptions {
  readonly allowlist: FieldAllowlist
  /** Of an answer of another API, as a chat completion. */
  readonly context: ChatAnswerContext
  /** Whether the client requested the usage chunk. */
  readonly includeUsage: boolean
  /** Called with each chunk's JSON text; null if no plugin listens. */
  readonly onEvent: ((json: string) => void) | null
  /** Set if the client uses another API format than chat completions. */
  readonly encoder?: AnswerEncoder | undefined
}

export class ClientEvents implements AnswerSink {
  readonly #options: ClientEventsOptions
  readonly #citations = new StreamedCitations()
  readonly #pictures = new PictureJoiner()
  #chatEncoder: ChatEncoder | undefined
  /** Fields that the usage chunk copies. */
  #head: Record<string, unknown> | null = null
  /** JSON text around the next chunk's text if it matches the template, and the field whose text it is. */
  #template: {
    readonly prefix: string
    readonly suffix: string
    readonly choice: number
    readonly field: TextField
  } | null = null

  constructor(options: ClientEventsOptions) {
    this.#options = options
  }

  /** Takes a chunk with a list of choices. Returns an empty string if the client gets nothing. */
  consume(chunk: Record<string, unknown>): string {
    const passedChunk = this.#filter(this.#clampCitations(chunk, chunk['choices'] as unknown[]))
    return passedChunk === null ? '' : this.#write(passedChunk)
  }

  push(events: readonly AnswerEvent[]): string {
    const { encoder, onEvent } = this.#options
    const chunks = encoder !== undefined && onEvent === null ? '' : this.#pushChunks(events)
    return encoder === undefined ? chunks : encoder.push(events)
  }

  #pushChunks(events: readonly AnswerEvent[]): string {
    this.#chatEncoder ??= new ChatEncoder(this.#options.context)
    let frames = ''
    for (const event of events) {
      const chunk = this.#chatEncoder.toChunk(event)
      if (chunk !== null) frames += this.#writeChunk(chunk)
    }
    return frames
  }

  acceptTemplate({ index, field, probe: { chunk, placeholder } }: LearnedTemplate): boolean {
    const passedChunk = this.#filter(chunk)
    // Written anew from the parsed chunk: the upstream's own text may hold a key twice, and only the last one was checked.
    const [prefix, suffix, ...rest] = passedChunk === null ? [] : JSON.stringify(passedChunk).split(placeholder)
    if (prefix === undefined || suffix === undefined || rest.length > 0) return false
    this.#template = { prefix, suffix, choice: index, field }
    return true
  }

  consumeTemplated(value: string, escaped: string): string {
    if (this.#template === null) return ''
    const { encoder, onEvent } = this.#options
    const { prefix, suffix, choice, field } = this.#template
    if (field === 'content') this.#citations.recordText(choice, value.length)
    if (encoder !== undefined) {
      onEvent?.(prefix + escaped + suffix)
      if (choice !== 0 || value === '') return ''
      if (field === 'content') return encoder.push([{ kind: 'text', text: value }])
      return encoder.push([{ kind: 'reasoning', text: value, field }])
    }
    const json = prefix + escaped + suffix
    onEvent?.(json)
    return `data: ${json}\n\n`
  }

  /** The last frames: usage and charge if the usage was requested, then the end. */
  buildTrailer(usage: AnswerUsage, charge?: JsonObject): string {
    const { encoder, includeUsage } = this.#options
    if (encoder !== undefined)
      return encoder.push([...this.#pictures.takeAll(), { kind: 'usage', usage, charge }]) + encoder.end()
    if (!includeUsage) return doneEvent
    return `data: ${JSON.stringify({ ...this.#head, choices: [], usage, charge })}\n\n${doneEvent}`
  }

  #write(chunk: Record<string, unknown>): string {
    const { encoder, onEvent } = this.#options
    if (encoder !== undefined) {
      onEvent?.(JSON.stringify(chunk))
      return encoder.push(this.#pictures.join(readAnswerEvents(chunk)))
    }
    return this.#writeChunk(chunk)
  }

  #writeChunk(chunk: Record<string, unknown>): string {
    if (this.#head === null && (chunk['choices'] as unknown[]).length > 0) {
      const { id, object, created } = chunk
      this.#head = { id, object, created, model: this.#options.allowlist.productId }
    }
    const json = JSON.stringify(chunk)
    this.#options.onEvent?.(json)
    return `data: ${json}\n\n`
  }

  #clampCitations(chunk: Record<string, unknown>, choices: unknown[]): Record<string, unknown> {
    let checkedChoices: unknown[] | null = null
    for (const [at, choice] of choices.entries()) {
      const passedChoice = this.#citations.process(choice)
      if (passedChoice !== choice) (checkedChoices ??= [...choices])[at] = passedChoice
    }
    return checkedChoices === null ? chunk : { ...chunk, choices: checkedChoices }
  }

  /** A chunk for the client; null for one that is for none. */
  #filter(chunk: Record<string, unknown>): Record<string, unknown> | null {
    const { allowlist } = this.#options
    if ((chunk['choices'] as unknown[]).length === 0 && !hasContentFields(chunk)) return null
    if (!needsNoFilter(chunk, allowlist)) return filterResponse(chunk, allowlist)
    return chunk['model'] === undefined ? chunk : { ...chunk, model: allowlist.productId }
  }
}
