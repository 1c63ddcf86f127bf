/** Translates an answer of the Responses API, streamed or whole, to a chat completion. */
import { isRecord } from '../../exchange/request/chat-request.ts'
import { reasoningItemsField } from '../../exchange/request/responses-fields.ts'
import { ChunkBuilder, toText } from '../chunk-builder.ts'
import { AnswerTooLargeError } from '../../codecs/answer-bounds.ts'
import { endOfAnswer } from '../upstream-format.ts'
import type { AnswerDecoder, JsonFields } from '../upstream-format.ts'
import {
  joinSummary,
  joinTexts,
  readReasoningItem,
  toChatCall,
  toFinishReason,
  toLogprobs,
  toStreamError,
} from './output-items.ts'
import { toChatUsage } from './response-usage.ts'

/** Calls, messages, reasoning and hosted calls of one answer. */
const maxItems = 4_096

/** An item of the answer that has begun. */
interface OpenItem {
  readonly type: unknown
  /** Position among the calls of the answer. */
  readonly call: number
  /** Some of its text, or of its arguments, was received. */
  hasText: boolean
  isDone: boolean
}

type Chunk = Record<string, unknown>

export class ResponseDecoder implements AnswerDecoder {
  readonly #chunks: ChunkBuilder
  readonly #isTranslated: boolean
  /** By `output_index`. */
  readonly #items = new Map<unknown, OpenItem>()
  #hasStarted = false
  #calls = 0
  /** The text of an earlier message, or part of a summary, must be separated from the next. */
  #hasText = false
  #hasReasoning = false

  /**
   * @param startedAt Unix milliseconds
   * @param options.isTranslated the client uses another API than chat completions: calls with free text become those of the function with
   * the argument `input` that they were declared as, and each item of reasoning stands for itself
   */
  constructor(startedAt: number, { isTranslated = false }: { readonly isTranslated?: boolean } = {}) {
    this.#chunks = new ChunkBuilder(startedAt, 'resp')
    this.#isTranslated = isTranslated
  }

  decode(event: JsonFields): ReturnType<AnswerDecoder['decode']> {
    const { type, response, output_index: index, item, delta } = event
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
        return this.#start(response)
      case 'response.output_item.added':
        return this.#startItem(index, item)
      case 'response.output_text.delta':
        return this.#addText(index, delta, event['logprobs'])
      case 'response.refusal.delta':
        return this.#addRefusal(index, delta)
      case 'response.reasoning_summary_part.added':
        return this.#hasReasoning ? [this.#chunks.toDelta({ reasoning_content: '\n\n' })] : []
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.#addReasoning(index, delta)
      case 'response.function_call_arguments.delta':
        return this.#addArguments(index, delta)
      case 'response.custom_tool_call_input.delta':
        return this.#addInput(index, delta)
      case 'response.output_item.done':
        return this.#endItem(index, item)
      case 'response.completed':
      case 'response.incomplete':
        return this.#end(isRecord(response) ? response : {})
      case 'response.failed':
      case 'response.cancelled':
        return [{ error: toStreamError(response) }]
      default:
        // The ends of parts, whose contents are in the end of their item, `keepalive`, and what later versions add.
        return []
    }
  }

  toCompletion(document: Record<string, unknown>): Record<string, unknown> {
    const { object, status, output } = document
    if (object !== 'response' || !Array.isArray(output) || (status !== 'completed' && status !== 'incomplete')) return document
    this.#chunks.setHead(document)
    const items = output.filter(isRecord)
    const ofType = (type: string): readonly JsonFields[] => items.filter((item) => item['type'] === type)
    const messages = ofType('message')
    const text = messages
      .map((item) => joinTexts(item, 'output_text', 'text'))
      .filter((each) => each !== '')
      .join('\n\n')
    const refusal = messages.map((item) => joinTexts(item, 'refusal', 'refusal')).join('')
    const reasoning = ofType('reasoning')
      .map(joinSummary)
      .filter((each) => each !== '')
    const reasoningItems = ofType('reasoning').flatMap((item) => readReasoningItem(item) ?? [])
    const calls = items.flatMap((item) => toChatCall(item, { customAsFunction: this.#isTranslated }) ?? [])
    const message = {
      role: 'assistant',
      content: text === '' && (calls.length > 0 || refusal !== '') ? null : text,
      refusal: refusal === '' ? null : refusal,
      ...(reasoning.length === 0 ? {} : { reasoning_content: reasoning.join('\n\n') }),
      ...(reasoningItems.length === 0 ? {} : { [reasoningItemsField]: reasoningItems }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    }
    const logprobs = messages.flatMap(({ content }) =>
      Array.isArray(content) ? content.filter(isRecord).flatMap((part) => part['logprobs'] ?? []) : [],
    )
    const finish = toFinishReason(document, { hasCalls: calls.length > 0 })
    return {
      ...this.#chunks.head,
      object: 'chat.completion',
      choices: [{ index: 0, message, logprobs: toLogprobs(logprobs), finish_reason: finish }],
      usage: toChatUsage(document['usage']) ?? undefined,
    }
  }

  #start(response: unknown): readonly Chunk[] {
    if (this.#hasStarted) return []
    this.#hasStarted = true
    this.#chunks.setHead(isRecord(response) ? response : {})
    return [this.#chunks.toDelta({ role: 'assistant', content: '' })]
  }

  #startItem(index: unknown, item: unknown): readonly Chunk[] {
    if (!isRecord(item) || this.#items.has(index)) return []
    if (this.#items.size >= maxItems) throw new AnswerTooLargeError('too many items')
    const { type } = item
    const call = toChatCall(item, { customAsFunction: this.#isTranslated, isStart: true })
    const position = call === null ? -1 : this.#calls++
    this.#items.set(index, { type, call: position, hasText: false, isDone: false })
    return call === null ? [] : [this.#chunks.toDelta({ tool_calls: [{ index: position, ...call }] })]
  }

  #addText(index: unknown, delta: unknown, logprobs: unknown): readonly Chunk[] {
    const text = toText(delta)
    if (text === '') return []
    const isNewMessage = this.#markText(index) && this.#hasText
    this.#hasText = true
    return [this.#chunks.toDelta({ content: isNewMessage ? `\n\n${text}` : text }, toLogprobs(logprobs))]
  }

  #addRefusal(index: unknown, delta: unknown): readonly Chunk[] {
    const refusal = toText(delta)
    this.#markText(index)
    return refusal === '' ? [] : [this.#chunks.toDelta({ refusal })]
  }

  #addReasoning(index: unknown, delta: unknown): readonly Chunk[] {
    const text = toText(delta)
    if (text === '') return []
    this.#markText(index)
    this.#hasReasoning = true
    return [this.#chunks.toDelta({ reasoning_content: text })]
  }

  #addArguments(index: unknown, delta: unknown): readonly Chunk[] {
    const item = this.#items.get(index)
    const text = toText(delta)
    if (item === undefined || item.call < 0 || text === '') return []
    item.hasText = true
    return [this.#chunks.toDelta({ tool_calls: [{ index: item.call, function: { arguments: text } }] })]
  }

  #addInput(index: unknown, delta: unknown): readonly Chunk[] {
    const item = this.#items.get(index)
    const text = toText(delta)
    if (item === undefined || item.call < 0 || text === '') return []
    const isFirst = !item.hasText
    item.hasText = true
    if (!this.#isTranslated) return [this.#chunks.toDelta({ tool_calls: [{ index: item.call, custom: { input: text } }] })]
    const escaped = JSON.stringify(text).slice(1, -1)
    const piece = isFirst ? `{"input":"${escaped}` : escaped
    return [this.#chunks.toDelta({ tool_calls: [{ index: item.call, function: { arguments: piece } }] })]
  }

  /** The item is the authoritative form: what was not received in pieces is sent whole. */
  #endItem(index: unknown, item: unknown): readonly Chunk[] {
    if (!isRecord(item)) return []
    const opened = this.#startItem(index, item)
    const open = this.#items.get(index)
    if (open === undefined || open.isDone) return opened
    open.isDone = true
    const events = [...opened]
    switch (item['type']) {
      case 'message':
        if (!open.hasText)
          events.push(
            ...this.#addText(index, joinTexts(item, 'output_text', 'text'), null),
            ...this.#addRefusal(index, joinTexts(item, 'refusal', 'refusal')),
          )
        break
      case 'reasoning': {
        if (!open.hasText) events.push(...this.#addReasoning(index, joinSummary(item)))
        const kept = readReasoningItem(item)
        if (kept === null) break
        events.push(this.#chunks.toDelta({ [reasoningItemsField]: [kept] }))
        if (this.#isTranslated) this.#hasReasoning = false
        break
      }
      case 'function_call':
        if (!open.hasText) events.push(...this.#addArguments(index, item['arguments']))
        break
      case 'custom_tool_call':
        if (!open.hasText) events.push(...this.#addInput(index, item['input']))
        // A text that was cut stays open, so that no client takes it for the whole.
        if (this.#isTranslated && open.hasText && item['status'] !== 'incomplete')
          events.push(this.#chunks.toDelta({ tool_calls: [{ index: open.call, function: { arguments: '"}' } }] }))
        break
    }
    return events
  }

  /** Whether this is the first text of the item. */
  #markText(index: unknown): boolean {
    const item = this.#items.get(index)
    if (item === undefined || item.hasText) return false
    item.hasText = true
    return true
  }

  #end(response: JsonFields): ReturnType<AnswerDecoder['decode']> {
    const { output } = response
    const events = [...this.#start(response)]
    // Servers that send few events have the items here alone.
    if (this.#items.size === 0 && Array.isArray(output))
      for (const [index, item] of (output as unknown[]).entries()) events.push(...this.#endItem(index, item))
    events.push(this.#chunks.toEnd({ finish_reason: toFinishReason(response, { hasCalls: this.#calls > 0 }) }))
    const usage = toChatUsage(response['usage'])
    if (usage !== null) events.push(this.#chunks.toChunk([], usage))
    return [...events, endOfAnswer]
  }
}
