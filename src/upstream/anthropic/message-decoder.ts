/** Translates an answer of the Messages API, streamed or whole, to a chat completion. */
import { thinkingField } from '../../exchange/request/anthropic-fields.ts'
import { parseFinishReason } from '../../codecs/chat/finish-reason.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import { ChunkBuilder, toText } from '../chunk-builder.ts'
import { AnswerTooLargeError, maxEventLength } from '../../codecs/answer-bounds.ts'
import { endOfAnswer } from '../upstream-format.ts'
import type { AnswerDecoder, JsonFields } from '../upstream-format.ts'
import { MessageUsage } from './message-usage.ts'

/** Blocks follow one after the other; a server that never ends them must not exhaust memory. */
const maxOpenBlocks = 512

/** An open content block that more than its own deltas depend on. */
type OpenBlock =
  | { readonly type: 'thinking'; text: string; signature: string }
  | { readonly type: 'tool_use'; readonly call: number; readonly input: unknown; hasArguments: boolean }

type Chunk = Record<string, unknown>

export class MessageDecoder implements AnswerDecoder {
  readonly #chunks: ChunkBuilder
  readonly #usage = new MessageUsage()
  readonly #open = new Map<unknown, OpenBlock>()
  #calls = 0

  constructor(startedAt: number) {
    this.#chunks = new ChunkBuilder(startedAt, 'msg')
  }

  decode(event: JsonFields): ReturnType<AnswerDecoder['decode']> {
    switch (event['type']) {
      case 'message_start':
        return this.#startMessage(event['message'])
      case 'content_block_start':
        return this.#startBlock(event['index'], event['content_block'])
      case 'content_block_delta':
        return this.#continueBlock(event['index'], event['delta'])
      case 'content_block_stop':
        return this.#stopBlock(event['index'])
      case 'message_delta':
        return this.#endMessage(event['delta'], event['usage'])
      case 'message_stop':
        return [endOfAnswer]
      default:
        // `ping`, and what later versions add.
        return []
    }
  }

  toCompletion(document: Record<string, unknown>): Record<string, unknown> {
    const { type, content, stop_reason: stopReason, stop_sequence: stopSequence } = document
    if (type !== 'message' || !Array.isArray(content)) return document
    this.#chunks.setHead(document)
    this.#usage.add(document['usage'])
    const blocks = content.filter(isRecord)
    const text = joinTexts(blocks, 'text', 'text')
    const reasoning = joinTexts(blocks, 'thinking', 'thinking')
    const thinking = blocks.flatMap((block, index) => toThinkingBlock(block, index) ?? [])
    const calls = blocks.filter((block) => block['type'] === 'tool_use')
    const message = {
      role: 'assistant',
      content: text === '' && calls.length > 0 ? null : text,
      refusal: null,
      ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
      ...(thinking.length === 0 ? {} : { [thinkingField]: thinking }),
      ...(calls.length === 0 ? {} : { tool_calls: calls.map(toCall) }),
    }
    const choice = { index: 0, message, logprobs: null, ...toFinish(stopReason, stopSequence) }
    return { ...this.#chunks.head, object: 'chat.completion', choices: [choice], usage: this.#usage.toChatUsage() ?? undefined }
  }

  #startMessage(message: unknown): readonly Chunk[] {
    const { usage, ...head } = isRecord(message) ? message : {}
    this.#chunks.setHead(head)
    this.#usage.add(usage)
    return [this.#chunks.toDelta({ role: 'assistant', content: '' }), ...this.#reportUsage()]
  }

  #startBlock(index: unknown, block: unknown): readonly Chunk[] {
    if (!isRecord(block)) return []
    if (this.#open.size >= maxOpenBlocks) throw new AnswerTooLargeError('too many open blocks')
    const { type, text, thinking, signature, id, name, input } = block
    switch (type) {
      case 'text':
        return this.#toText(text)
      case 'thinking':
        this.#open.set(index, { type, text: toText(thinking), signature: toText(signature) })
        return this.#toReasoning(toText(thinking))
      case 'redacted_thinking':
        return this.#toThinking(block, index)
      case 'tool_use': {
        const call = this.#calls++
        this.#open.set(index, { type, call, input, hasArguments: false })
        return [this.#chunks.toDelta({ tool_calls: [{ index: call, id, type: 'function', function: { name, arguments: '' } }] })]
      }
      default:
        return []
    }
  }

  #continueBlock(index: unknown, delta: unknown): readonly Chunk[] {
    if (!isRecord(delta)) return []
    const open = this.#open.get(index)
    switch (delta['type']) {
      case 'text_delta':
        return this.#toText(delta['text'])
      case 'thinking_delta': {
        const text = toText(delta['thinking'])
        if (open?.type === 'thinking') open.text += text
        return this.#toReasoning(text)
      }
      case 'signature_delta':
        if (open?.type === 'thinking') open.signature += toText(delta['signature'])
        if (open?.type === 'thinking' && open.signature.length > maxEventLength)
          throw new AnswerTooLargeError('a signature is too long')
        return []
      case 'input_json_delta':
        return open?.type === 'tool_use' ? this.#toArguments(open, toText(delta['partial_json'])) : []
      default:
        return []
    }
  }

  /** Arguments that came with the start of the block are sent here: deltas take precedence over them. */
  #stopBlock(index: unknown): readonly Chunk[] {
    const open = this.#open.get(index)
    this.#open.delete(index)
    if (open === undefined) return []
    if (open.type === 'tool_use') return open.hasArguments ? [] : this.#toArguments(open, JSON.stringify(open.input ?? {}))
    return this.#toThinking({ type: 'thinking', thinking: open.text, signature: open.signature }, index)
  }

  #endMessage(delta: unknown, usage: unknown): readonly Chunk[] {
    this.#usage.add(usage)
    const { stop_reason: stopReason, stop_sequence: stopSequence } = isRecord(delta) ? delta : {}
    const finish = toFinish(stopReason, stopSequence)
    const end = finish.finish_reason === null ? [] : [this.#chunks.toEnd(finish)]
    return [...end, ...this.#reportUsage()]
  }

  #reportUsage(): readonly Chunk[] {
    const usage = this.#usage.toChatUsage()
    return usage === null ? [] : [this.#chunks.toChunk([], usage)]
  }

  #toText(text: unknown): readonly Chunk[] {
    return typeof text !== 'string' || text === '' ? [] : [this.#chunks.toDelta({ content: text })]
  }

  #toReasoning(text: string): readonly Chunk[] {
    return text === '' ? [] : [this.#chunks.toDelta({ reasoning_content: text })]
  }

  #toThinking(block: JsonFields, index: unknown): readonly Chunk[] {
    const thinking = toThinkingBlock(block, index)
    return thinking === null ? [] : [this.#chunks.toDelta({ [thinkingField]: [thinking] })]
  }

  #toArguments(open: Extract<OpenBlock, { type: 'tool_use' }>, text: string): readonly Chunk[] {
    if (text === '') return []
    open.hasArguments = true
    return [this.#chunks.toDelta({ tool_calls: [{ index: open.call, function: { arguments: text } }] })]
  }
}

/** A whole block as a later request returns it; null without a signature, because such a block would be rejected. */
function toThinkingBlock({ type, thinking, signature, data }: JsonFields, index: unknown): JsonFields | null {
  if (type === 'redacted_thinking') return typeof data === 'string' && data !== '' ? { index, type, data } : null
  return type === 'thinking' && typeof signature === 'string' && signature !== ''
    ? { index, type, thinking: toText(thinking), signature }
    : null
}

/** `stop_reason` names the stop sequence, as vLLM does. */
function toFinish(stopReason: unknown, stopSequence: unknown): { readonly finish_reason: string | null; stop_reason?: string } {
  const sequence = typeof stopSequence === 'string' ? { stop_reason: stopSequence } : {}
  return { finish_reason: parseFinishReason(stopReason), ...sequence }
}

function toCall({ id, name, input }: JsonFields): JsonFields {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input ?? {}) } }
}

function joinTexts(blocks: readonly JsonFields[], type: string, field: string): string {
  return blocks.map((block) => (block['type'] === type ? toText(block[field]) : '')).join('')
}
