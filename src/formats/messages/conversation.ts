/**
 * Builds the messages of a chat completion. Model servers accept less than the Messages API: results of tools must follow their calls
 * directly and completely, roles must alternate, and a system message may only come first.
 */
import { invalidRequest } from '../../errors.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { toolErrorField } from '../../exchange/request/gemini-fields.ts'
import { MarkedText, toEndMark } from './marked-text.ts'
import { translateDocument, translateImage, translateSearchResult } from './media.ts'
import {
  isAbsent,
  isObject,
  invalidField,
  readOptionalBoolean,
  readOptionalText,
  requireObject,
  requireText,
} from '../shared/fields.ts'
import type { Reasoning } from '../../codecs/shared/sealed-reasoning.ts'
import { openReasoning, toReasoningFields } from '../../codecs/shared/sealed-reasoning.ts'
import { emptyResult } from '../../codecs/shared/placeholders.ts'
import { toFunctionName } from '../../codecs/shared/tool-names.ts'

interface ConversationOptions {
  readonly model: string
  unseal(container: string): string | null
  /** Receives the types of ignored blocks, as in `messages.container_upload`. */
  readonly ignored: Set<string>
}

interface AssistantMessage {
  role: 'assistant'
  readonly texts: MarkedString[]
  readonly reasoning: Reasoning[]
  readonly calls: Call[]
  /** The ids of its calls. */
  readonly ids: Set<string>
  /** Its calls by the ids that were sent, and how many of them have a result. */
  readonly sentCalls: Map<string, { readonly calls: Call[]; answered: number }>
}

/** A text, and `cache_control` of its block. */
interface MarkedString {
  readonly text: string
  mark: unknown
}

interface Call {
  /** Unique in its message. */
  readonly id: string
  readonly name: string
  readonly arguments: string
  /** `cache_control` of its block. */
  mark: unknown
  result?: ToolResult
}

interface ToolResult {
  readonly parts: readonly JsonObject[]
  readonly isError: boolean
  /** `cache_control` of the result. */
  mark: unknown
}

/** Claude Code's first system block names its version and changes often, so that no cache of the prompt would ever hit. */
const attribution = /^x-anthropic-billing-header:/

export class ConversationBuilder {
  readonly #options: ConversationOptions
  readonly #system = new MarkedText()
  readonly #messages: (AssistantMessage | { readonly role: 'user'; readonly fields: JsonObject })[] = []
  /** Parts of the next user message. */
  #userParts: JsonObject[] = []

  constructor(options: ConversationOptions) {
    this.#options = options
  }

  /** The system prompt: a string, or text blocks. */
  addSystem(value: unknown, path: string): void {
    for (const { text, mark } of this.#readTexts(value, path)) if (!attribution.test(text)) this.#system.add(text, mark)
  }

  addMessage(value: unknown, path: string): void {
    const { role, content } = requireObject(value, path)
    if (role === 'assistant') this.#addAssistant(content, `${path}.content`)
    else if (role === 'user') this.#addUser(content, `${path}.content`)
    else if (role === 'system') this.#addSystemNote(content, `${path}.content`)
    else throw invalidField(`${path}.role`, "must be 'user', 'assistant' or 'system'", "必须是 'user'、'assistant' 或 'system'")
  }

  /** Puts the mark of the whole request on its last block. */
  markEnd(cacheControl: unknown): void {
    const mark = this.#readMark({ cache_control: cacheControl })
    if (mark === undefined) return
    if (this.#userParts.length > 0) return void (this.#userParts = [...markLast(this.#userParts, mark)])
    const last = this.#messages.at(-1)
    if (last?.role !== 'assistant') return
    const call = last.calls.findLast(({ result }) => result !== undefined) ?? last.calls.at(-1)
    const block = call?.result ?? call ?? last.texts.at(-1)
    if (block !== undefined) block.mark ??= mark
  }

  /** The messages. All reasoning is kept: a history that changes from turn to turn would never be found in the cache of an upstream. */
  finish(): readonly JsonObject[] {
    this.#endUserMessage()
    return [
      ...(this.#system.text === '' ? [] : [{ role: 'system', ...this.#system.toFields() }]),
      ...this.#messages.flatMap((message) =>
        message.role === 'assistant' ? toTurnMessages(message) : [{ role: 'user', ...message.fields }],
      ),
    ]
  }

  /** Before the first message it belongs to the system prompt; later it becomes part of the user's message. */
  #addSystemNote(content: unknown, path: string): void {
    const texts = this.#readTexts(content, path)
    if (texts.length === 0) return
    if (this.#messages.length === 0 && this.#userParts.length === 0)
      for (const { text, mark } of texts) this.#system.add(text, mark)
    else {
      const note = toTextPart(`<system>\n${texts.map(({ text }) => text).join('\n\n')}\n</system>`)
      this.#userParts.push(...markLast([note], texts.findLast(({ mark }) => mark !== undefined)?.mark))
    }
  }

  #addUser(content: unknown, path: string): void {
    if (typeof content === 'string') {
      if (content !== '') this.#userParts.push(toTextPart(content))
      return
    }
    for (const [block, at] of readBlocks(content, path)) {
      if (block['type'] === 'tool_result') this.#addToolResult(block, at)
      else this.#addUserParts(this.#translateInput(block, at), this.#readOwnMark(block))
    }
  }

  /** The mark of a block that becomes nothing stands on what precedes it. */
  #addUserParts(parts: readonly JsonObject[], mark: unknown): void {
    if (parts.length > 0) this.#userParts.push(...markLast(parts, mark))
    else if (this.#userParts.length > 0) this.#userParts = [...markLast(this.#userParts, mark)]
    else if (mark !== undefined) this.#options.ignored.add('cache_control')
  }

  /** A result of no call in the message before is a text of the user, because the history may have been shortened. */
  #addToolResult(block: JsonObject, path: string): void {
    const { tool_use_id: id, content } = block
    const isError = readOptionalBoolean(block['is_error'], `${path}.is_error`) === true
    if (typeof id !== 'string') throw invalidField(`${path}.tool_use_id`, 'must be a string', '必须是字符串')
    const parts = this.#translateResult(content, `${path}.content`)
    const call = this.#takeOpenCall(id)
    const mark = this.#readOwnMark(block)
    if (call === undefined) this.#userParts.push(...markLast(toLooseResult(id, parts, isError), mark))
    else call.result = { parts, isError, mark }
  }

  #translateResult(content: unknown, path: string): readonly JsonObject[] {
    if (isAbsent(content) || content === '') return []
    if (typeof content === 'string') return [toTextPart(content)]
    return readBlocks(content, path).flatMap(([block, at]) => this.#translateInput(block, at))
  }

  #takeOpenCall(id: string): Call | undefined {
    const last = this.#messages.at(-1)
    const sentCall = last?.role === 'assistant' ? last.sentCalls.get(id) : undefined
    return sentCall?.calls[sentCall.answered++]
  }

  #translateInput(block: JsonObject, path: string): readonly JsonObject[] {
    const { type, text } = block
    switch (type) {
      case 'text':
        if (typeof text !== 'string') throw invalidField(`${path}.text`, 'must be a string', '必须是字符串')
        return text === '' ? [] : [toTextPart(text)]
      case 'image':
        return [translateImage(block, path)]
      case 'document':
        return translateDocument(block, path)
      case 'search_result':
        return [translateSearchResult(block, path)]
      case 'tool_reference':
        return [toTextPart(`Tool: ${requireText(block['tool_name'] ?? block['name'], `${path}.tool_name`)}`)]
      case 'file':
      case 'container_upload':
        throw invalidRequest(
          {
            en: `'${path}' names an uploaded file; send its contents instead.`,
            zh: `'${path}' 引用了已上传的文件，请直接发送内容。`,
          },
          path,
        )
      default:
        this.#ignore(block)
        return []
    }
  }

  #addAssistant(content: unknown, path: string): void {
    this.#endUserMessage()
    const message: AssistantMessage = {
      role: 'assistant',
      texts: [],
      reasoning: [],
      calls: [],
      ids: new Set(),
      sentCalls: new Map(),
    }
    for (const [block, at] of typeof content === 'string' ? [] : readBlocks(content, path)) {
      const { type, text } = block
      switch (type) {
        case 'text':
          if (typeof text !== 'string') throw invalidField(`${at}.text`, 'must be a string', '必须是字符串')
          this.#addText(message, { text, mark: this.#readMark(block) })
          break
        case 'thinking': {
          const text = readOptionalText(block['thinking'], `${at}.thinking`) ?? ''
          const reasoning = openReasoning(readOptionalText(block['signature'], `${at}.signature`), text, this.#options)
          if (reasoning !== null) message.reasoning.push(reasoning)
          break
        }
        case 'redacted_thinking': {
          const reasoning = openReasoning(readOptionalText(block['data'], `${at}.data`), '', this.#options)
          if (reasoning !== null) message.reasoning.push(reasoning)
          break
        }
        case 'tool_use':
          this.#addCall(message, block, at)
          break
        default:
          this.#ignore(block)
      }
    }
    if (typeof content === 'string') message.texts.push({ text: content, mark: undefined })
    this.#pushAssistant(message)
  }

  /** The mark of an empty text stands on the text before it. */
  #addText({ texts }: AssistantMessage, { text, mark }: MarkedString): void {
    const last = texts.at(-1)
    if (text !== '' || mark === undefined) texts.push({ text, mark })
    else if (last === undefined) this.#options.ignored.add('cache_control')
    else last.mark = mark
  }

  /** Some programs return a call that had no id, or the id of another one. */
  #addCall({ calls, ids, sentCalls }: AssistantMessage, block: JsonObject, path: string): void {
    const { id: sentId, input } = block
    if (typeof sentId !== 'string') throw invalidField(`${path}.id`, 'must be a string', '必须是字符串')
    const name = toFunctionName({ name: requireText(block['name'], `${path}.name`) })
    const call: Call = {
      id: sentId !== '' && !ids.has(sentId) ? sentId : `${sentId || 'call'}_${calls.length}`,
      name,
      arguments: JSON.stringify(isAbsent(input) ? {} : requireObject(input, `${path}.input`)),
      mark: this.#readMark(block),
    }
    calls.push(call)
    ids.add(call.id)
    const sentCall = sentCalls.get(sentId)
    if (sentCall === undefined) sentCalls.set(sentId, { calls: [call], answered: 0 })
    else sentCall.calls.push(call)
  }

  /** Two messages of the assistant in a row become one. */
  #pushAssistant(message: AssistantMessage): void {
    if (message.texts.every(({ text }) => text === '') && message.calls.length === 0) return
    const last = this.#messages.at(-1)
    if (last?.role !== 'assistant' || last.calls.length > 0) return void this.#messages.push(message)
    this.#messages.pop()
    this.#messages.push({
      ...message,
      texts: appendAll(last.texts, message.texts),
      reasoning: appendAll(last.reasoning, message.reasoning),
    })
  }

  #endUserMessage(): void {
    const parts = this.#userParts
    this.#userParts = []
    if (parts.length === 0) return
    // Some model servers accept a list of parts only for images.
    const isText = parts.every(({ type }) => type === 'text')
    const joinedText = new MarkedText()
    if (isText) for (const { text, cache_control: mark } of parts) joinedText.add(String(text), mark)
    this.#messages.push({ role: 'user', fields: isText ? joinedText.toFields() : { content: parts } })
  }

  /** Undefined without a mark. */
  #readMark({ cache_control: cacheControl }: JsonObject): unknown {
    return isObject(cacheControl) ? cacheControl : undefined
  }

  /** The mark of a block, else the last one within it, because what is within it becomes a part of one block. */
  #readOwnMark(block: JsonObject): unknown {
    const { content, source } = block
    const inner = Array.isArray(content) ? content : isObject(source) ? source['content'] : undefined
    const ownMark = this.#readMark(block)
    if (ownMark !== undefined || !Array.isArray(inner)) return ownMark
    return inner.filter(isObject).reduce<unknown>((mark, each) => this.#readOwnMark(each) ?? mark, undefined)
  }

  #readTexts(value: unknown, path: string): readonly { readonly text: string; readonly mark?: unknown }[] {
    if (isAbsent(value) || value === '') return []
    if (typeof value === 'string') return [{ text: value }]
    return readBlocks(value, path).flatMap(([block, at]) => {
      const { type, text } = block
      if (type !== 'text') {
        this.#ignore(block)
        return []
      }
      if (typeof text !== 'string') throw invalidField(`${at}.text`, 'must be a string', '必须是字符串')
      return text === '' ? [] : [{ text, mark: this.#readMark(block) }]
    })
  }

  #ignore({ type }: JsonObject): void {
    this.#options.ignored.add(`messages.${String(type)}`)
  }
}

/** The message with its calls, then one result for each of them. */
function toTurnMessages({ role, texts, reasoning, calls }: AssistantMessage): readonly JsonObject[] {
  const content = new MarkedText()
  for (const { text, mark } of texts) if (text !== '') content.add(text, mark)
  const toolCalls = calls.map(({ id, name, arguments: args, mark }) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
    ...(mark === undefined ? {} : { cache_control: mark }),
  }))
  return [
    {
      role,
      ...(content.text === '' ? { content: null } : content.toFields()),
      ...toReasoningFields(reasoning),
      ...(calls.length === 0 ? {} : { tool_calls: toolCalls }),
    },
    ...calls.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, ...toResultFields(result) })),
  ]
}

/** A text where the result is one text, or none. */
function toResultFields({ parts, isError, mark }: ToolResult = { parts: [], isError: false, mark: undefined }): JsonObject {
  const isText = parts.length <= 1 && parts.every(({ type }) => type === 'text')
  const text = isText ? String(parts[0]?.['text'] ?? emptyResult) : ''
  return {
    content: isText ? text : parts,
    ...(isError ? { [toolErrorField]: true } : {}),
    ...toEndMark(text, mark),
  }
}

/** Parts of the user's message for a result without its call. */
function toLooseResult(id: string, parts: readonly JsonObject[], isError: boolean): readonly JsonObject[] {
  const [first, ...rest] = parts
  const text = first === undefined ? emptyResult : typeof first['text'] === 'string' ? first['text'] : null
  const prefix = isError ? 'Error: ' : ''
  const head = toTextPart(`Result of the tool call ${id}:\n${prefix}${text ?? 'The result is attached below.'}`)
  return text === null ? [head, ...parts] : [head, ...rest]
}

/** The mark of a block belongs to the last part that it becomes. */
function markLast(parts: readonly JsonObject[], mark: unknown): readonly JsonObject[] {
  const last = parts.at(-1)
  return mark === undefined || last === undefined ? parts : [...parts.slice(0, -1), { ...last, cache_control: mark }]
}

function toTextPart(text: string): JsonObject {
  return { type: 'text', text }
}

function appendAll<Item>(list: Item[], items: readonly Item[]): Item[] {
  for (const item of items) list.push(item)
  return list
}

/** The blocks of a content, each with its path. */
function readBlocks(content: unknown, path: string): readonly (readonly [block: JsonObject, path: string])[] {
  if (!Array.isArray(content)) throw invalidField(path, 'must be a string or an array of blocks', '必须是字符串或内容块数组')
  return content.map((block: unknown, i) => {
    const at = `${path}[${i}]`
    if (!isObject(block) || typeof block['type'] !== 'string')
      throw invalidField(at, "must be an object with a 'type'", "必须是带有 'type' 的对象")
    return [block, at]
  })
}
