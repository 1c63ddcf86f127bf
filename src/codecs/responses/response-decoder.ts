/** Reads an answer of the Responses API, streamed or whole. */
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import type { AnswerEvent } from '../../conversation/answer-event.ts'
import { AnswerTooLargeError } from '../answer-bounds.ts'
import type { AnswerDecoder, DecodedEvent } from '../answer-decoder.ts'
import { CallIds } from '../shared/call-ids.ts'
import { toFunctionName } from '../shared/tool-names.ts'
import { toText } from '../shared/read-json.ts'
import {
  joinLogprobs,
  joinSummary,
  joinTexts,
  readAnnotations,
  readReasoningItem,
  toCitationEvent,
  toFinishReason,
  toLogprobs,
  toPictureEvents,
  toStreamError,
} from './read-items.ts'
import { readResponseUsage } from './response-usage.ts'

/** Calls, messages, reasoning and hosted calls of one answer. */
const maxItems = 4_096

/** An item of the answer that has begun. */
interface OpenItem {
  /** Position among the calls of the answer; null for an item that is none. */
  readonly call: number | null
  readonly isCustom: boolean
  /** Some of its text, or of its arguments, was received. */
  hasText: boolean
  hasCitations: boolean
  isDone: boolean
  /** Where its text begins in the text of the answer. */
  textStart: number
  readonly phase: unknown
  /** The type of the events that its reasoning comes with. */
  reasoningKind?: unknown
}

export class ResponseDecoder implements AnswerDecoder {
  readonly #ids: CallIds
  /** By `output_index`, or by id where a server sends no index. */
  readonly #items = new Map<unknown, OpenItem>()
  /** The item that began last. */
  #lastKey: unknown
  #hasStarted = false
  #calls = 0
  /** The text of an earlier message, or part of a summary, must be separated from the next. */
  #hasText = false
  #hasReasoning = false
  #textLength = 0

  /** @param requestId ids of calls that the upstream gave none are derived from it */
  constructor(requestId: string) {
    this.#ids = new CallIds(requestId)
  }

  decode(event: JsonObject): readonly DecodedEvent[] {
    const { type, response, item, delta } = event
    const index = this.#toKey(event)
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
        return this.#start(response)
      case 'response.output_item.added':
        return this.#startItem(index, item)
      case 'response.output_text.delta':
        return this.#addText(index, delta, event['logprobs'])
      case 'response.output_text.annotation.added':
        return this.#addCitations(index, [event['annotation']])
      case 'response.refusal.delta':
        return this.#addRefusal(index, delta)
      case 'response.reasoning_summary_part.added':
        return this.#hasReasoning ? [toReasoningEvent('\n\n')] : []
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.#addReasoning(index, delta, type)
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return this.#addArguments(index, delta)
      case 'response.output_item.done':
        return this.#endItem(index, item)
      case 'response.completed':
      case 'response.incomplete':
        return [...this.#end(isRecord(response) ? response : {}), { kind: 'end' }]
      case 'response.failed':
      case 'response.cancelled':
        return [{ kind: 'error', error: toStreamError(response) }]
      default:
        // The ends of parts, whose contents are in the end of their item, `keepalive`, and what later versions add.
        return []
    }
  }

  decodeWhole(document: JsonObject): readonly AnswerEvent[] | null {
    const { object, status, output } = document
    const isAnswer = object === 'response' && Array.isArray(output) && (status === 'completed' || status === 'incomplete')
    return isAnswer ? this.#end(document) : null
  }

  #toKey({ type, output_index: index, item_id: itemId, item }: JsonObject): unknown {
    if (index !== undefined) return index
    const id = itemId ?? (isRecord(item) ? item['id'] : undefined)
    if (this.#items.has(id) || (isRecord(item) && id !== undefined)) return id
    return type === 'response.output_item.added' ? this.#items.size : this.#lastKey
  }

  #start(response: unknown): readonly AnswerEvent[] {
    if (this.#hasStarted) return []
    this.#hasStarted = true
    const { id, model } = isRecord(response) ? response : {}
    return [{ kind: 'start', id: toText(id), model: toText(model) }]
  }

  #startItem(index: unknown, item: unknown): readonly AnswerEvent[] {
    if (!isRecord(item) || this.#items.has(index)) return []
    if (this.#items.size >= maxItems) throw new AnswerTooLargeError('too many items')
    const { type, call_id: callId, id: itemId, phase } = item
    const isCustom = type === 'custom_tool_call'
    const isSearch = type === 'tool_search_call'
    const call = isCall(item) ? this.#calls++ : null
    this.#lastKey = index
    this.#items.set(index, {
      call,
      isCustom,
      hasText: false,
      hasCitations: false,
      isDone: false,
      textStart: this.#textLength,
      phase,
    })
    if (call === null) return []
    const id = this.#ids.add(toText(callId ?? itemId))
    return [toCallEvent({ index: call, id, name: isSearch ? 'tool_search' : readName(item), arguments: '' }, isCustom)]
  }

  #addText(index: unknown, delta: unknown, logprobs: unknown): readonly AnswerEvent[] {
    const text = toText(delta)
    if (text === '') return []
    // Some servers leave the beginning of the item out.
    this.#startItem(index, { type: 'message' })
    const startEvents = this.#markText(index) ? this.#startText(index) : []
    this.#hasText = true
    this.#textLength += text.length
    return [...startEvents, { kind: 'text', text, ...toLogprobs(logprobs) }]
  }

  #startText(index: unknown): readonly AnswerEvent[] {
    const separator = this.#hasText ? '\n\n' : ''
    this.#textLength += separator.length
    const item = this.#items.get(index)
    if (item !== undefined) item.textStart = this.#textLength
    const phase = toText(item?.phase)
    if (phase !== '') return [{ kind: 'text-break', separator, phase }]
    return separator === '' ? [] : [{ kind: 'text-break', separator }]
  }

  #addCitations(index: unknown, annotations: readonly unknown[]): readonly AnswerEvent[] {
    const item = this.#items.get(index)
    if (item === undefined || annotations.length === 0) return []
    item.hasCitations = true
    return annotations.filter(isRecord).map((each) => toCitationEvent(each, item.textStart))
  }

  #addRefusal(index: unknown, delta: unknown): readonly AnswerEvent[] {
    const text = toText(delta)
    this.#markText(index)
    return text === '' ? [] : [{ kind: 'refusal', text }]
  }

  /** @param kind of the event; a server that sends both a summary and the reasoning has the same item twice */
  #addReasoning(index: unknown, delta: unknown, kind?: unknown): readonly AnswerEvent[] {
    const text = toText(delta)
    if (text === '') return []
    this.#startItem(index, { type: 'reasoning' })
    const item = this.#items.get(index)
    if (item !== undefined && (item.reasoningKind ??= kind) !== kind) return []
    this.#markText(index)
    this.#hasReasoning = true
    return [toReasoningEvent(text)]
  }

  #addArguments(index: unknown, delta: unknown): readonly AnswerEvent[] {
    const item = this.#items.get(index)
    const text = toText(delta)
    if (item === undefined || item.call === null || text === '') return []
    item.hasText = true
    return [toCallEvent({ index: item.call, id: '', name: '', arguments: text }, item.isCustom)]
  }

  /** The item is the authoritative form: what was not received in pieces is passed whole. */
  #endItem(index: unknown, item: unknown): readonly AnswerEvent[] {
    if (!isRecord(item)) return []
    const startEvents = this.#startItem(index, item)
    const open = this.#items.get(index)
    if (open === undefined || open.isDone) return startEvents
    open.isDone = true
    return [
      ...startEvents,
      ...(open.hasText ? [] : this.#readContent(index, item)),
      ...(open.hasCitations ? [] : this.#addCitations(index, readAnnotations(item))),
      ...this.#signReasoning(item),
      ...completeText(open, item),
    ]
  }

  #readContent(index: unknown, item: JsonObject): readonly AnswerEvent[] {
    switch (item['type']) {
      case 'message':
        return [
          ...this.#addText(index, joinTexts(item, 'output_text', 'text'), joinLogprobs(item)),
          ...this.#addRefusal(index, joinTexts(item, 'refusal', 'refusal')),
        ]
      case 'reasoning': {
        const text = joinSummary(item)
        return this.#addReasoning(index, this.#hasReasoning && text !== '' ? `\n\n${text}` : text)
      }
      case 'image_generation_call':
        return toPictureEvents(item)
      case 'function_call':
        return this.#addArguments(index, item['arguments'])
      case 'custom_tool_call':
        return this.#addArguments(index, item['input'])
      case 'tool_search_call':
        return this.#addArguments(index, JSON.stringify(item['arguments'] ?? {}))
      default:
        return []
    }
  }

  /** The text after a signed item belongs to the next one. */
  #signReasoning(item: JsonObject): readonly AnswerEvent[] {
    const value = item['type'] === 'reasoning' ? readReasoningItem(item) : null
    if (value === null) return []
    this.#hasReasoning = false
    return [{ kind: 'signed-reasoning', signed: { field: 'responses_reasoning', value } }]
  }

  /** Whether this is the first text of the item. */
  #markText(index: unknown): boolean {
    const item = this.#items.get(index)
    if (item === undefined || item.hasText) return false
    item.hasText = true
    return true
  }

  #end(response: JsonObject): readonly AnswerEvent[] {
    const { output } = response
    const events = [...this.#start(response)]
    // Servers that send few events have the items, or the calls, here alone, and so has a whole answer.
    const isWhole = this.#items.size === 0
    const lacksCalls = this.#calls === 0
    if (Array.isArray(output))
      for (const [index, item] of (output as unknown[]).entries())
        if (isWhole || this.#items.get(index)?.isDone === false) events.push(...this.#endItem(index, item))
        else if (lacksCalls && isCall(item)) events.push(...this.#endItem(`end ${index}`, item))
    events.push({ kind: 'finish', reason: toFinishReason(response, { hasCalls: this.#calls > 0 }) })
    const usage = readResponseUsage(response['usage'])
    return usage === null ? events : [...events, { kind: 'usage', usage }]
  }
}

/** Whether the client makes it. */
function isCall(item: unknown): boolean {
  if (!isRecord(item)) return false
  const { type, execution } = item
  return type === 'function_call' || type === 'custom_tool_call' || (type === 'tool_search_call' && execution !== 'server')
}

/** The name of the function that stands for a tool, which a namespace may have. */
function readName({ name, namespace }: JsonObject): string {
  return typeof namespace === 'string' && namespace !== '' ? toFunctionName({ name: toText(name), namespace }) : toText(name)
}

/** Free text does not show its end, as JSON does. A text that was cut stays open, so that no client takes it for the whole. */
function completeText({ call, isCustom }: OpenItem, { status }: JsonObject): readonly AnswerEvent[] {
  if (call === null || !isCustom || status === 'incomplete') return []
  return [{ kind: 'call', index: call, id: '', name: '', arguments: '', isCustom, isComplete: true }]
}

function toReasoningEvent(text: string): AnswerEvent {
  return { kind: 'reasoning', text, field: 'reasoning_content' }
}

function toCallEvent(piece: Omit<Extract<AnswerEvent, { kind: 'call' }>, 'kind' | 'isCustom'>, isCustom: boolean): AnswerEvent {
  return isCustom ? { kind: 'call', ...piece, isCustom } : { kind: 'call', ...piece }
}
