/**
 * A request of the Messages API as targets of the same API receive it. It must be one that the API accepts: a conversation that needs a
 * repair, or that has blocks which no target receives, is translated.
 */
import { ExtraFields, isEmpty, mapObjects, toNameSet } from '../../exchange/request/form/native-request.ts'
import type { NativeRequest } from '../../exchange/request/form/native-request.ts'
import { thinkingField } from '../../exchange/request/anthropic-fields.ts'
import type { JsonObject, RequestContext } from '../../exchange/api-format/api-format.ts'
import { toCacheControl } from '../../exchange/request/form/cache-marks.ts'
import { openReasoning } from '../../codecs/shared/sealed-reasoning.ts'
import { toText } from '../../codecs/shared/read-json.ts'
import { isAbsent, isObject } from '../shared/fields.ts'
import { isHostedTool } from './tools.ts'

/** Fields of the body besides the conversation; others are named in the header of dropped fields. */
const settings = toNameSet(`temperature top_p top_k stop_sequences thinking output_config output_format metadata cache_control`)

/** Fields that the chat request has a place for, of each type of block that a target may receive. */
const blockFields: Readonly<Partial<Record<string, ReadonlySet<string>>>> = {
  text: toNameSet('type text cache_control'),
  image: toNameSet('type source cache_control'),
  document: toNameSet('type source title context cache_control'),
  search_result: toNameSet('type title source content cache_control'),
  tool_reference: toNameSet('type tool_name name cache_control'),
  tool_use: toNameSet('type id name input cache_control'),
  tool_result: toNameSet('type tool_use_id content is_error cache_control'),
}
const messageFields = toNameSet('role content')
const sourceFields = toNameSet('type media_type data url content')
const toolFields = toNameSet('type name description input_schema strict cache_control')

type NativeContext = Pick<RequestContext, 'unseal' | 'isSealed'> & { readonly model: string }

/** @param body a request that was translated without a fault */
export function toNativeRequest(body: JsonObject, context: NativeContext): NativeRequest | undefined {
  const reader = new NativeReader(context)
  const messages = reader.readMessages(body['messages'])
  const system = reader.readSystem(body['system'])
  const tools = reader.readTools(body['tools'])
  const { tool_choice: choice, stop_sequences: stops, context_management: management } = body
  const hasBlankStop = Array.isArray(stops) && !stops.every(isVisible)
  if (messages === null || system === null || tools === null || hasBlankStop) return undefined
  const hasTools = tools !== undefined && tools.length > 0
  const fields = {
    messages,
    ...(system === undefined ? {} : { system }),
    ...(tools === undefined || (tools.length === 0 && !isEmpty(body['tools'])) ? {} : { tools }),
    // Without tools there is nothing to choose from.
    ...(isAbsent(choice) || !hasTools ? {} : { tool_choice: choice }),
    ...Object.fromEntries(Object.entries(markBlock(body)).filter(([name, value]) => settings.has(name) && !isAbsent(value))),
    ...(isEditing(management) ? { context_management: management } : {}),
  }
  const { output_config: output } = body
  if (isEditing(management)) reader.extra.add({ management }, noFields, 'settings')
  if (isObject(output)) reader.extra.add(output, outputFields, 'settings')
  if (reader.extra.hasRefused) return undefined
  return { api: 'anthropic', fields, facts: { lacksThinking: reader.lacksThinking }, extra: reader.extra }
}

const outputFields = toNameSet('format effort')

/** Edits that only leave out; others have the model write a summary, which no answer here returns. */
function isEditing(management: unknown): management is JsonObject {
  if (!isObject(management)) return false
  const { edits } = management
  return (
    isAbsent(edits) ||
    (Array.isArray(edits) && edits.every((edit) => isObject(edit) && toText(edit['type']).startsWith('clear_')))
  )
}

/** The methods return null for what needs a repair. */
class NativeReader {
  readonly extra = new ExtraFields()
  /** The last answer called tools, and does not begin with its thinking. */
  lacksThinking = false
  readonly #context: NativeContext
  /** Ids of the calls of the message before. */
  #openCalls: ReadonlySet<string> = new Set()

  constructor(context: NativeContext) {
    this.#context = context
  }

  readMessages(list: unknown): readonly JsonObject[] | null {
    const messages = mapObjects(list, (message) => this.#readMessage(message))
    const [first, last] = [messages?.[0], messages?.at(-1)]
    if (messages === null || first?.['role'] !== 'user' || this.#openCalls.size > 0) return null
    // White space at the end of an answer that is to be continued is rejected.
    return last?.['role'] === 'assistant' && /\s$/.test(readLastText(last['content'])) ? null : messages
  }

  readSystem(value: unknown): unknown {
    if (isAbsent(value)) return undefined
    if (typeof value === 'string') return isVisible(value) ? value : null
    return mapObjects(value, (block) => (block['type'] === 'text' ? this.#readBlock(block) : null))
  }

  /** Without the tools that Anthropic's servers run. */
  readTools(value: unknown): readonly JsonObject[] | null | undefined {
    if (isAbsent(value)) return undefined
    return mapObjects(Array.isArray(value) ? value.filter((tool) => !isHostedTool(tool)) : value, (tool) => {
      const { name, input_schema: schema } = tool
      if (!/^[\w-]{1,128}$/.test(toText(name)) || !isObject(schema) || isAbsent(schema['type'])) return null
      this.extra.add(tool, toolFields)
      return markBlock(tool)
    })
  }

  #readMessage(message: JsonObject): JsonObject | null {
    const { role, content } = message
    const open = this.#openCalls
    this.#openCalls = new Set()
    if (open.size > 0 && role !== 'user') return null
    this.extra.add(message, messageFields)
    if (typeof content === 'string') return open.size === 0 && isVisible(content) ? message : null
    if (!Array.isArray(content) || content.length === 0) return null
    if (!hasResultsOf(open, content)) return null
    const blocks = mapObjects(content, (block) => (role === 'assistant' ? this.#readAnswered(block) : this.#readBlock(block)))
    if (blocks === null || blocks.length === 0) return null
    if (role === 'assistant') {
      const calls = blocks.filter(({ type }) => type === 'tool_use')
      this.#openCalls = new Set(calls.map(({ id }) => toText(id)))
      if (this.#openCalls.size < calls.length) return null
      this.lacksThinking = calls.length > 0 && !isThinking(blocks[0])
    }
    return { ...message, content: blocks }
  }

  #readAnswered(block: JsonObject): JsonObject | null | undefined {
    const { type, id, name, input } = block
    if (isThinking(block)) return this.#readThinking(block)
    if (type === 'text') return this.#readBlock(block)
    if (type !== 'tool_use' || !isObject(input) || !/^[\w-]+$/.test(toText(id)) || toText(name) === '') return null
    this.#collect('tool_use', block)
    return markBlock(block)
  }

  /** Undefined for thinking that no target of this API can read. */
  #readThinking(block: JsonObject): JsonObject | undefined {
    const { model, unseal, isSealed } = this.#context
    const [field, shownText] = block['type'] === 'thinking' ? ['signature', toText(block['thinking'])] : ['data', '']
    const container = toText(block[field])
    if (container !== '' && isSealed?.(container) !== true) {
      this.extra.add({ [field]: container }, noFields, 'settings')
      return block
    }
    const signedReasoning = openReasoning(container, shownText, { model, unseal })?.signed
    if (signedReasoning?.field !== thinkingField) return undefined
    const { index: _, ...value } = signedReasoning.value
    return value
  }

  #readBlock(block: JsonObject): JsonObject | null {
    const { type, text, source, content } = block
    if (type === 'text' && !isVisible(text)) return null
    if (type === 'tool_use' || !this.#collect(toText(type), block)) return null
    if (isObject(source)) {
      this.extra.add(source, sourceFields)
      if (!isAbsent(source['content']) && this.#readDocument(source['content']) === null) return null
    }
    if (type === 'search_result') return this.#readTexts(content) === null ? null : markBlock(block)
    // Of a call that failed, an empty result is rejected.
    if (type === 'tool_result' && block['is_error'] === true && (isEmpty(content) || content === '')) return null
    if (type !== 'tool_result' || typeof content === 'string' || isAbsent(content)) return markBlock(block)
    const parts = mapObjects(content, (part) => (part['type'] === 'tool_result' ? null : this.#readBlock(part)))
    return parts === null ? null : markBlock({ ...block, content: parts })
  }

  #readDocument(content: unknown): unknown {
    if (typeof content === 'string') return content
    return mapObjects(content, (part) => (part['type'] === 'image' ? this.#readBlock(part) : this.#readText(part)))
  }

  #readText(part: JsonObject): JsonObject | null {
    return part['type'] === 'text' && this.#collect('text', part) ? part : null
  }

  #readTexts(content: unknown): unknown {
    if (typeof content === 'string') return content
    return mapObjects(content, (part) => this.#readText(part))
  }

  /** False for a type that no target receives. */
  #collect(type: string, value: JsonObject): boolean {
    const knownFields = Object.hasOwn(blockFields, type) ? blockFields[type] : undefined
    if (knownFields !== undefined) this.extra.add(value, knownFields)
    return knownFields !== undefined
  }
}

const noFields: ReadonlySet<string> = new Set()

/** The results of these calls must come first, one for each, and no other result may be there. */
function hasResultsOf(calls: ReadonlySet<string>, content: readonly unknown[]): boolean {
  const ids = content.map((block) => (isObject(block) && block['type'] === 'tool_result' ? block['tool_use_id'] : null))
  const results = ids.slice(0, calls.size)
  return (
    ids.slice(calls.size).every((id) => id === null) &&
    new Set(results).size === calls.size &&
    results.every((id) => calls.has(toText(id)))
  )
}

/** A mark for the cache has the lifetime that costs the least. */
function markBlock(block: JsonObject): JsonObject {
  const { cache_control: mark, ...rest } = block
  if (mark === undefined || (isObject(mark) && mark['type'] === 'ephemeral' && Object.keys(mark).length === 1)) return block
  const cacheControl = toCacheControl(mark)
  return cacheControl === null ? rest : { ...rest, cache_control: cacheControl }
}

function isThinking(block: JsonObject | undefined): boolean {
  return block?.['type'] === 'thinking' || block?.['type'] === 'redacted_thinking'
}

function isVisible(text: unknown): boolean {
  return typeof text === 'string' && /\S/.test(text)
}

function readLastText(content: unknown): string {
  const last: unknown = Array.isArray(content) ? content.at(-1) : content
  return toText(isObject(last) ? last['text'] : last)
}
