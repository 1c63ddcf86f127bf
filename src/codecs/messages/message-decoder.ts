/** Reads an answer of the Messages API, streamed or whole. */
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import type { AnswerEvent } from '../../conversation/answer-event.ts'
import { AnswerTooLargeError, maxEventLength } from '../answer-bounds.ts'
import type { AnswerDecoder, DecodedEvent } from '../answer-decoder.ts'
import { CallIds } from '../shared/call-ids.ts'
import { parseFinishReason } from '../chat/finish-reason.ts'
import { toText } from '../shared/read-json.ts'
import { MessageUsage } from './message-usage.ts'
import { toCitationEvents } from './message-citations.ts'

/** Blocks follow one after the other; a server that never ends them must not exhaust memory. */
const maxOpenBlocks = 512

/** An open content block that more than its own deltas depend on. */
type OpenBlock =
  | { readonly type: 'thinking'; text: string; signature: string }
  | { readonly type: 'tool_use'; readonly call: number; readonly input: unknown; hasArguments: boolean }

const nothing: readonly AnswerEvent[] = []
/** A citation belongs to its block. */
const textBreak: AnswerEvent = { kind: 'text-break', separator: '' }

export class MessageDecoder implements AnswerDecoder {
  readonly #usage = new MessageUsage()
  readonly #open = new Map<unknown, OpenBlock>()
  readonly #ids: CallIds
  #calls = 0
  /** The block before was text as well. */
  #isAfterText = false

  /** @param requestId ids of calls that the upstream gave none are derived from it */
  constructor(requestId: string) {
    this.#ids = new CallIds(requestId)
  }

  decode(event: JsonObject): readonly DecodedEvent[] {
    switch (event['type']) {
      case 'message_start':
        return this.#startMessage(isRecord(event['message']) ? event['message'] : {})
      case 'content_block_start':
        return this.#startBlock(event['index'], event['content_block'])
      case 'content_block_delta':
        return this.#continueBlock(event['index'], event['delta'])
      case 'content_block_stop':
        return this.#stopBlock(event['index'])
      case 'message_delta':
        return this.#endMessage(isRecord(event['delta']) ? event['delta'] : {}, event['usage'])
      case 'message_stop':
        return [{ kind: 'end' }]
      default:
        // `ping`, and what later versions add.
        return nothing
    }
  }

  decodeWhole(document: JsonObject): readonly AnswerEvent[] | null {
    const { type, content, usage, ...message } = document
    // Some servers leave the type out.
    if ((type !== 'message' && type !== undefined) || !Array.isArray(content)) return null
    const blocks = content.flatMap((block, index) => [...this.#startBlock(index, block), ...this.#stopBlock(index)])
    return [...this.#startMessage(message), ...blocks, ...this.#endMessage(message, usage)]
  }

  #startMessage({ id, model, usage }: JsonObject): readonly AnswerEvent[] {
    this.#usage.add(usage)
    return [{ kind: 'start', id: toText(id), model: toText(model) }, ...this.#reportUsage()]
  }

  #startBlock(index: unknown, block: unknown): readonly AnswerEvent[] {
    if (!isRecord(block)) return nothing
    if (this.#open.size >= maxOpenBlocks) throw new AnswerTooLargeError('too many open blocks')
    const { type, text, thinking, signature, id, name, input, citations } = block
    const isAfterText = this.#isAfterText
    this.#isAfterText = type === 'text'
    switch (type) {
      case 'text': {
        const citationEvents = Array.isArray(citations) ? (citations as unknown[]).flatMap(toCitationEvents) : nothing
        return isAfterText ? [textBreak, ...toTextEvents(text), ...citationEvents] : [...toTextEvents(text), ...citationEvents]
      }
      case 'thinking':
        this.#open.set(index, { type, text: toText(thinking), signature: toText(signature) })
        return toReasoningEvents(thinking)
      case 'redacted_thinking':
        return toSignedEvents(block, index)
      case 'tool_use': {
        const call = this.#calls++
        this.#open.set(index, { type, call, input, hasArguments: false })
        return [{ kind: 'call', index: call, id: this.#ids.add(toText(id)), name: toText(name), arguments: '' }]
      }
      default:
        return nothing
    }
  }

  #continueBlock(index: unknown, delta: unknown): readonly AnswerEvent[] {
    if (!isRecord(delta)) return nothing
    const open = this.#open.get(index)
    switch (delta['type']) {
      case 'text_delta':
        return toTextEvents(delta['text'])
      case 'citations_delta':
        return toCitationEvents(delta['citation'])
      case 'thinking_delta':
        if (open?.type === 'thinking') open.text += toText(delta['thinking'])
        return toReasoningEvents(delta['thinking'])
      case 'signature_delta':
        if (open?.type === 'thinking') open.signature += toText(delta['signature'])
        if (open?.type === 'thinking' && open.signature.length > maxEventLength)
          throw new AnswerTooLargeError('a signature is too long')
        return nothing
      case 'input_json_delta':
        return open?.type === 'tool_use' ? toArgumentsEvents(open, toText(delta['partial_json'])) : nothing
      default:
        return nothing
    }
  }

  /** Arguments that came with the start of the block are passed here: deltas take precedence over them. */
  #stopBlock(index: unknown): readonly AnswerEvent[] {
    const open = this.#open.get(index)
    this.#open.delete(index)
    if (open === undefined) return nothing
    if (open.type === 'tool_use') return open.hasArguments ? nothing : toArgumentsEvents(open, toInputText(open.input))
    return toSignedEvents({ type: 'thinking', thinking: open.text, signature: open.signature }, index)
  }

  #endMessage({ stop_reason: stopReason, stop_sequence: sequence }: JsonObject, usage: unknown): readonly AnswerEvent[] {
    this.#usage.add(usage)
    const reason = parseFinishReason(stopReason)
    // Some servers end no block.
    const events = reason === null ? [] : [...this.#open.keys()].flatMap((index) => this.#stopBlock(index))
    if (reason !== null && typeof sequence === 'string') events.push({ kind: 'stop-sequence', sequence })
    if (reason !== null) events.push({ kind: 'finish', reason })
    return [...events, ...this.#reportUsage()]
  }

  #reportUsage(): readonly AnswerEvent[] {
    const usage = this.#usage.toChatUsage()
    return usage === null ? nothing : [{ kind: 'usage', usage }]
  }
}

function toTextEvents(value: unknown): readonly AnswerEvent[] {
  return typeof value !== 'string' || value === '' ? nothing : [{ kind: 'text', text: value }]
}

function toReasoningEvents(value: unknown): readonly AnswerEvent[] {
  return typeof value !== 'string' || value === '' ? nothing : [{ kind: 'reasoning', text: value, field: 'reasoning_content' }]
}

/** Some servers send the arguments as text. */
function toInputText(input: unknown): string {
  if (typeof input !== 'string') return JSON.stringify(input ?? {})
  return input.trim() === '' ? '{}' : input
}

function toArgumentsEvents(open: Extract<OpenBlock, { type: 'tool_use' }>, text: string): readonly AnswerEvent[] {
  if (text === '') return nothing
  open.hasArguments = true
  return [{ kind: 'call', index: open.call, id: '', name: '', arguments: text }]
}

/** A whole block as a later request returns it; none without a signature, because such a block would be rejected. */
function toSignedEvents({ type, thinking, signature, data }: JsonObject, index: unknown): readonly AnswerEvent[] {
  if (type === 'redacted_thinking' ? toText(data) === '' : toText(signature) === '') return nothing
  const value = type === 'redacted_thinking' ? { index, type, data } : { index, type, thinking: toText(thinking), signature }
  return [{ kind: 'signed-reasoning', signed: { field: 'anthropic_thinking', value } }]
}
