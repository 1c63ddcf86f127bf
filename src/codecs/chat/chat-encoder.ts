/** Writes the answer of another API as chunks of a chat completion. */
import type { AnswerEvent, CallPiece, SignedReasoning } from '../../conversation/answer-event.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { callSignaturesField } from '../../exchange/request/gemini-fields.ts'
import { decideFinish } from './finish-reason.ts'

type Chunk = Record<string, unknown>

export interface ChatAnswerContext {
  /** The id of an answer that has none is made of it. */
  readonly requestId: string
  readonly model: string
  /** Unix milliseconds. */
  readonly startedAt: number
}

export class ChatEncoder {
  readonly #created: number
  readonly #model: string
  #id: string
  /** Calls by their index, and whether they have arguments. */
  readonly #calls = new Map<number | null, boolean>()
  /** Of Gemini's API, by the id of the call that follows. */
  readonly #signatures = new Map<unknown, JsonObject>()
  #hasRole = false
  #stopSequence: string | null = null
  /** Reasoning that follows a signed piece is separated from its text. */
  #reasoning: 'none' | 'open' | 'ended' = 'none'

  constructor({ requestId, model, startedAt }: ChatAnswerContext) {
    this.#created = Math.floor(startedAt / 1000)
    this.#model = model
    this.#id = `chatcmpl-${requestId}`
  }

  /** The chunk of an event; null for one that has none of its own. */
  toChunk(event: AnswerEvent): Chunk | null {
    switch (event.kind) {
      case 'start':
        if (event.id !== '') this.#id = event.id
        return this.#write({ content: '' })
      case 'text':
        return this.#write({ content: event.text }, { logprobs: event.logprobs ?? null })
      case 'refusal':
        return this.#write({ refusal: event.text })
      case 'reasoning':
        return this.#write({ [event.field]: this.#separateReasoning(event.text) })
      case 'signed-reasoning':
        return this.#sign(event.signed)
      case 'image':
        return this.#write({ images: [{ type: 'image_url', image_url: { url: event.url } }] })
      case 'citation':
        return event.annotation === null ? null : this.#write({ annotations: [event.annotation] })
      case 'text-break':
        return event.separator === '' ? null : this.#write({ content: event.separator })
      case 'call':
        return this.#toCall(event)
      case 'stop-sequence':
        this.#stopSequence = event.sequence
        return null
      case 'finish':
        return this.#finish(event.reason)
      case 'search':
      case 'usage':
        return null
    }
  }

  #write(fields: JsonObject, choice: JsonObject = {}): Chunk {
    const delta = this.#hasRole ? fields : { role: 'assistant', ...fields }
    this.#hasRole = true
    return {
      id: this.#id,
      object: 'chat.completion.chunk',
      created: this.#created,
      model: this.#model,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...choice }],
    }
  }

  /** Google's own compatible endpoint has signatures in calls and deltas. */
  #sign({ field, value }: SignedReasoning): Chunk | null {
    if (this.#reasoning === 'open') this.#reasoning = 'ended'
    if (field !== callSignaturesField) return this.#write({ [field]: [value] })
    const { id, ...fields } = value
    if (id === undefined) return this.#write(fields)
    this.#signatures.set(id, fields)
    return null
  }

  #separateReasoning(text: string): string {
    const separatedText = this.#reasoning === 'ended' ? `\n\n${text}` : text
    this.#reasoning = 'open'
    return separatedText
  }

  #toCall({ index, id, name, arguments: text, isCustom = false }: CallPiece): Chunk | null {
    const isNew = !this.#calls.has(index)
    if (!isNew && text === '') return null
    // Free text may be empty.
    this.#calls.set(index, isCustom || text !== '' || this.#calls.get(index) === true)
    const type = isCustom ? 'custom' : 'function'
    const body = isCustom ? { input: text } : { arguments: text }
    return this.#write({
      tool_calls: [isNew ? { index, id, type, [type]: { name, ...body }, ...this.#signatures.get(id) } : { index, [type]: body }],
    })
  }

  /** A call without arguments has an empty object, unless the answer was cut off. `stop_reason` names the stop sequence, as vLLM does. */
  #finish(reason: string): Chunk {
    const isCut = reason === 'length' || reason === 'content_filter'
    const empty = isCut ? [] : [...this.#calls].filter(([, hasArguments]) => !hasArguments)
    const calls = empty.map(([index]) => ({ index, function: { arguments: '{}' } }))
    const sequence = this.#stopSequence === null ? {} : { stop_reason: this.#stopSequence }
    const finish = decideFinish(reason, this.#calls.size > 0)
    return this.#write(calls.length === 0 ? {} : { tool_calls: calls }, { finish_reason: finish, ...sequence })
  }
}
