/**
 * Translates the messages of a chat completion. The API accepts less: roles alternate and begin with the user, results of tools follow their
 * calls directly and completely, and a system prompt stands beside the messages.
 */
import { breakpointsField, thinkingField } from '../../../exchange/request/anthropic-fields.ts'
import { isRecord } from '../../../exchange/request/chat-request.ts'
import { toolErrorField } from '../../../exchange/request/gemini-fields.ts'
import type { JsonObject as JsonFields } from '../../../exchange/api-format/api-format.ts'
import { toCacheControl } from '../../../exchange/request/form/cache-marks.ts'
import { toTextBlock, toTextBlocks, findLastMark } from './cache-control.ts'
import { toContentBlock } from './content-blocks.ts'
import { parseInput } from '../../shared/parse-input.ts'
import { emptyResult, openingText } from '../../shared/placeholders.ts'

export interface Conversation {
  readonly system: readonly JsonFields[]
  readonly messages: readonly Turn[]
  /** The last turn called tools and its thinking is not there, so that thinking with a budget would be rejected. */
  readonly lacksThinking: boolean
}

/** @throws GatewayError `invalid_request` for a part that the API has no place for */
export function toConversation(messages: readonly unknown[]): Conversation {
  const builder = new ConversationBuilder()
  messages.forEach((message, i) => {
    if (isRecord(message)) builder.add(message, `messages[${i}]`)
  })
  return builder.finish()
}

export interface Turn {
  readonly role: 'user' | 'assistant'
  readonly content: JsonFields[]
}

class ConversationBuilder {
  readonly #system: JsonFields[] = []
  readonly #turns: Turn[] = []
  /** Ids of the last turn's calls that have no result yet. */
  #openCalls = new Set<string>()

  add(message: JsonFields, path: string): void {
    const { role } = message
    if (role === 'system' || role === 'developer') this.#addSystem(message, path)
    else if (role === 'assistant') this.#addAssistant(message, path)
    else if (role === 'tool') this.#addResult(message, path)
    else this.#addUser(toBlocks(message, path))
  }

  finish(): Conversation {
    this.#closeCalls()
    const last = this.#turns.at(-1)
    // White space at the end of an answer that is to be continued is rejected.
    if (last?.role === 'assistant') trimEnd(last.content)
    if (this.#turns[0]?.role !== 'user') this.#turns.unshift({ role: 'user', content: [{ type: 'text', text: openingText }] })
    const lastAnswer = this.#turns.findLast(({ role }) => role === 'assistant')
    return {
      system: this.#system,
      messages: this.#turns.filter(({ content }) => content.length > 0),
      lacksThinking: lastAnswer !== undefined && lastAnswer.content.some(isCall) && !isThinking(lastAnswer.content[0]),
    }
  }

  /** Later ones become part of the user's message, because only the first ones can stand beside the messages. */
  #addSystem(message: JsonFields, path: string): void {
    const blocks = toBlocks(message, path).filter(({ type }) => type === 'text')
    if (this.#turns.length === 0) this.#system.push(...blocks)
    else this.#addUser(blocks.map((block) => ({ ...block, text: `<system>\n${String(block['text'])}\n</system>` })))
  }

  #addUser(blocks: readonly JsonFields[]): void {
    this.#closeCalls()
    this.#append('user', blocks)
  }

  #addAssistant(message: JsonFields, path: string): void {
    this.#closeCalls()
    const { content, refusal, tool_calls: calls } = message
    // The client's mark on the whole message stands on its last block, which a call may be.
    const ownMark = typeof content === 'string' ? toCacheControl(message['cache_control']) : findLastMark(message)
    const blocks = [...readThinking(message), ...toBlocks({ ...message, cache_control: undefined }, path)]
    if ((content === null || content === undefined) && typeof refusal === 'string') blocks.push(...toTextBlocks(refusal, {}))
    for (const call of Array.isArray(calls) ? (calls as unknown[]) : []) {
      const block = toCallBlock(call)
      if (block === null) continue
      blocks.push(block)
      this.#openCalls.add(block.id)
    }
    const last = blocks.at(-1)
    this.#append('assistant', last === undefined || isThinking(last) ? blocks : markEnd(blocks, ownMark))
  }

  /** A result of no open call is a text of the user, because the history may have been shortened. */
  #addResult(message: JsonFields, path: string): void {
    const id = toCallId(message['tool_call_id'])
    const isError = message[toolErrorField] === true
    // A mark is one of the result, because a block within another cannot have one.
    const content = toBlocks({ ...message, [breakpointsField]: undefined }, path)
    const mark =
      findLastMark(message) ??
      toCacheControl(content.findLast(({ cache_control: each }) => each !== undefined)?.['cache_control'])
    const parts = content.map((block): JsonFields => ({ ...block, cache_control: undefined }))
    if (!this.#openCalls.delete(id)) return this.#addUser(markEnd(toLooseResult(id, parts, isError), mark))
    const result = parts.length === 0 ? [{ type: 'text', text: emptyResult }] : parts
    this.#append('user', [
      {
        type: 'tool_result',
        tool_use_id: id,
        content: result,
        ...(isError ? { is_error: true } : {}),
        ...(mark === null ? {} : { cache_control: mark }),
      },
    ])
  }

  #closeCalls(): void {
    const open = [...this.#openCalls]
    this.#openCalls = new Set()
    this.#append(
      'user',
      open.map((id) => ({ type: 'tool_result', tool_use_id: id, content: emptyResult })),
    )
  }

  #append(role: Turn['role'], blocks: readonly JsonFields[]): void {
    if (blocks.length === 0) return
    const last = this.#turns.at(-1)
    if (last?.role === role) last.content.push(...blocks)
    else this.#turns.push({ role, content: [...blocks] })
  }
}

function toBlocks(message: JsonFields, path: string): JsonFields[] {
  const { content } = message
  if (typeof content === 'string') return toTextBlocks(content, message)
  if (!Array.isArray(content)) return []
  const blocks = (content as unknown[]).flatMap((part, i) => {
    const block = isRecord(part) ? toContentBlock(part, `${path}.content[${i}]`) : null
    if (block === null) return []
    const cacheControl = isRecord(part) ? toCacheControl(part['cache_control']) : null
    return [cacheControl === null ? block : { ...block, cache_control: cacheControl }]
  })
  return markEnd(blocks, toCacheControl(message['cache_control']))
}

function toLooseResult(id: string, parts: readonly JsonFields[], isError: boolean): JsonFields[] {
  return [{ type: 'text', text: `${isError ? 'Failed result' : 'Result'} of the tool call ${id}:` }, ...parts]
}

function markEnd(blocks: JsonFields[], mark: JsonFields | null): JsonFields[] {
  return mark === null ? blocks : blocks.map((block, i) => (i === blocks.length - 1 ? { ...block, cache_control: mark } : block))
}

/** Thinking that the upstream signed. It comes first, as the API requires. */
function readThinking({ [thinkingField]: list }: JsonFields): JsonFields[] {
  if (!Array.isArray(list)) return []
  return (list as unknown[]).flatMap((block): JsonFields[] => {
    if (!isRecord(block)) return []
    const { type, thinking, signature, data } = block
    if (type === 'redacted_thinking') return typeof data === 'string' ? [{ type, data }] : []
    return type === 'thinking' && typeof thinking === 'string' && typeof signature === 'string'
      ? [{ type, thinking, signature }]
      : []
  })
}

function toCallBlock(call: unknown): (JsonFields & { readonly type: 'tool_use'; readonly id: string }) | null {
  const functionCall = isRecord(call) ? call['function'] : undefined
  if (!isRecord(call) || !isRecord(functionCall)) return null
  const mark = toCacheControl(call['cache_control'] ?? functionCall['cache_control'])
  return {
    type: 'tool_use',
    id: toCallId(call['id']),
    name: functionCall['name'],
    input: parseInput(functionCall['arguments']),
    ...(mark === null ? {} : { cache_control: mark }),
  }
}

/** Other characters are rejected. */
function toCallId(id: unknown): string {
  return (typeof id === 'string' ? id.replaceAll(/[^\w-]/g, '_') : '') || 'call'
}

function isCall({ type }: JsonFields): boolean {
  return type === 'tool_use'
}

function isThinking(block: JsonFields | undefined): boolean {
  return block?.['type'] === 'thinking' || block?.['type'] === 'redacted_thinking'
}

function trimEnd(content: JsonFields[]): void {
  const last = content.at(-1)
  if (last?.['type'] !== 'text') return
  const block = toTextBlock(String(last['text']).trimEnd(), toCacheControl(last['cache_control']))
  content.splice(-1, 1, ...(block === null ? [] : [block]))
}
