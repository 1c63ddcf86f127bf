/**
 * A request of the Responses API as targets of the same API receive it. A conversation that needs a repair, or that has items which no target
 * receives, is translated.
 */
import { ExtraFields, isEmpty, mapObjects, toNameSet } from '../../exchange/request/form/native-request.ts'
import type { NativeRequest } from '../../exchange/request/form/native-request.ts'
import { reasoningItemsField } from '../../exchange/request/responses-fields.ts'
import type { JsonObject, RequestContext } from '../../exchange/api-format/api-format.ts'
import { openReasoning } from '../../codecs/shared/sealed-reasoning.ts'
import { toText } from '../../codecs/shared/read-json.ts'
import { isAbsent, isObject } from '../shared/fields.ts'
import { isClientTool } from './tools.ts'
import type { ToolSet } from './tools.ts'

/** Fields of the body besides the conversation and the tools; others are dropped, and some of them named in the header. */
const settings = toNameSet('instructions temperature top_p text reasoning client_metadata stream_options')
/** Those of them of which a chat request has all, and the fields of the others that it has. */
const knownSettings = toNameSet('instructions temperature top_p stream_options effort summary format verbosity')
const includedFields = toNameSet('reasoning.encrypted_content message.output_text.logprobs message.input_image.image_url')

/** Fields that the chat request has a place for, or that are names of a bounded length, of each type of item. */
const itemFields: Readonly<Partial<Record<string, ReadonlySet<string>>>> = {
  message: toNameSet('type role content id status'),
  agent_message: toNameSet('type content id'),
  function_call: toNameSet('type call_id name namespace arguments id status'),
  function_call_output: toNameSet('type call_id output id status'),
  custom_tool_call: toNameSet('type call_id name namespace input id status'),
  custom_tool_call_output: toNameSet('type call_id output id status'),
  local_shell_call: toNameSet('type call_id action id status'),
  local_shell_call_output: toNameSet('type call_id output id status'),
  tool_search_call: toNameSet('type call_id execution arguments id status'),
  tool_search_output: toNameSet('type call_id execution tools id status'),
  additional_tools: toNameSet('type role tools id'),
}

/** The same of each type of part; annotations and probabilities of words are counted as settings. */
const partFields: Readonly<Partial<Record<string, ReadonlySet<string>>>> = {
  input_text: toNameSet('type text annotations logprobs'),
  output_text: toNameSet('type text annotations logprobs'),
  text: toNameSet('type text annotations logprobs'),
  summary_text: toNameSet('type text annotations logprobs'),
  refusal: toNameSet('type refusal annotations logprobs'),
  encrypted_content: toNameSet('type encrypted_content annotations logprobs'),
  input_image: toNameSet('type image_url detail annotations logprobs'),
  input_file: toNameSet('type filename file_data annotations logprobs'),
  input_audio: toNameSet('type input_audio annotations logprobs'),
}
/** Types of calls, by those of their results. */
const resultTypes: Readonly<Partial<Record<string, string>>> = {
  function_call_output: 'function_call',
  custom_tool_call_output: 'custom_tool_call',
  local_shell_call_output: 'local_shell_call',
  tool_search_output: 'tool_search_call',
}
const toolFields = toNameSet('type name description parameters strict format execution tools')
const namespaceFields = toNameSet('type name tools')

type NativeContext = Pick<RequestContext, 'unseal' | 'isSealed'> & { readonly model: string; readonly tools: ToolSet }

/** @param body a request that was translated without a fault */
export function toNativeRequest(body: JsonObject, context: NativeContext): NativeRequest | undefined {
  const { tools: declaredTools } = context
  const { input: sentInput, tools: sentTools, tool_choice: choice, parallel_tool_calls: parallel, include } = body
  // A choice that names a tool which the service would run.
  if (declaredTools.dropped.length > 0 && isObject(choice)) return undefined
  const reader = new NativeReader(context)
  const input = typeof sentInput === 'string' ? sentInput : reader.readInput(sentInput)
  const tools = isAbsent(sentTools) ? undefined : reader.readTools(sentTools)
  if (input === null || tools === null) return undefined
  // Without tools there is nothing to choose from.
  const hasChoice = declaredTools.functions.length > 0 || declaredTools.dropped.length === 0
  const keptSettings = Object.fromEntries(Object.entries(body).filter(([name, value]) => settings.has(name) && !isAbsent(value)))
  for (const value of [keptSettings, keptSettings['text'], keptSettings['reasoning']])
    if (isObject(value)) reader.extra.add(value, value === keptSettings ? inspectedSettings : knownSettings, 'settings')
  const fields = {
    input,
    ...keptSettings,
    ...(tools === undefined || (tools.length === 0 && !isEmpty(sentTools)) ? {} : { tools }),
    ...(isAbsent(choice) || !hasChoice ? {} : { tool_choice: choice }),
    ...(isAbsent(parallel) || !hasChoice ? {} : { parallel_tool_calls: parallel }),
    include: Array.isArray(include) ? include.filter((name) => includedFields.has(toText(name))) : [],
  }
  return reader.extra.hasRefused ? undefined : { api: 'responses', fields, extra: reader.extra }
}

const inspectedSettings: ReadonlySet<string> = new Set([...knownSettings, 'text', 'reasoning'])

/** Without what OpenAI's SDKs add to the items that they read, which the API rejects when it comes back. */
function withoutParsedValues(item: JsonObject): JsonObject {
  const { parsed_arguments: _parsed, ...rest } = item
  const { content } = item
  if (!Array.isArray(content)) return 'parsed_arguments' in item ? rest : item
  return {
    ...rest,
    content: content.map((part: unknown) => {
      if (!isObject(part) || part['parsed'] === undefined) return part
      const { parsed: _value, ...kept } = part
      return kept
    }),
  }
}

/** The methods return null for what needs a repair. */
class NativeReader {
  readonly extra = new ExtraFields()
  readonly #context: NativeContext
  /** Types of calls without a result, by their ids. */
  readonly #openCalls = new Map<string, string>()

  constructor(context: NativeContext) {
    this.#context = context
  }

  readInput(list: unknown): readonly JsonObject[] | null {
    const items = mapObjects(list, (item) => this.#readItem(item))
    return items === null || items.length === 0 || this.#openCalls.size > 0 ? null : items
  }

  /** Without the tools that a provider runs. */
  readTools(list: unknown): readonly JsonObject[] | null {
    return mapObjects(list, (tool) => {
      if (!isClientTool(tool)) return undefined
      const { type, tools, parameters } = tool
      this.extra.add(tool, type === 'namespace' ? namespaceFields : toolFields)
      if (type === 'function' && !isObject(parameters)) return null
      if (type !== 'namespace') return tool
      const inner = this.readTools(tools)
      return inner === null ? null : { ...tool, tools: inner }
    })
  }

  #readItem(sent: JsonObject): JsonObject | null | undefined {
    const item = withoutParsedValues(sent)
    const type = toText(item['type'] ?? 'message')
    const { id, status } = item
    if (type === 'reasoning') return this.#readReasoning(item)
    const knownFields = Object.hasOwn(itemFields, type) ? itemFields[type] : undefined
    if (knownFields === undefined || !isName(id) || !isName(status) || !this.#matchCall(type, item)) return null
    this.extra.add(item, knownFields)
    for (const field of ['content', 'output']) {
      const parts = item[field]
      if (Array.isArray(parts) && !parts.every((part) => this.#readPart(part))) return null
    }
    if (type !== 'additional_tools' && type !== 'tool_search_output') return item
    const tools = this.readTools(item['tools'] ?? [])
    return tools === null ? null : { ...item, tools }
  }

  /** Whether a call has an id of its own, and a result its call. */
  #matchCall(type: string, { call_id: id }: JsonObject): boolean {
    const calledType = resultTypes[type]
    const isCall = type.endsWith('_call')
    if (calledType === undefined && !isCall) return true
    if (typeof id !== 'string' || !isName(id)) return false
    if (!isCall) return this.#openCalls.get(id) === calledType && this.#openCalls.delete(id)
    return !this.#openCalls.has(id) && this.#openCalls.set(id, type) !== undefined
  }

  #readPart(part: unknown): boolean {
    if (!isObject(part)) return false
    const { type, annotations, logprobs } = part
    const knownFields = typeof type === 'string' && Object.hasOwn(partFields, type) ? partFields[type] : undefined
    if (knownFields === undefined) return false
    this.extra.add(part, knownFields)
    for (const notes of [annotations, logprobs]) if (!isEmpty(notes)) this.extra.settings.push(notes)
    return true
  }

  /** Undefined for reasoning that no target of this API can read. */
  #readReasoning(item: JsonObject): JsonObject | undefined {
    const { model, unseal, isSealed } = this.#context
    const container = toText(item['encrypted_content'])
    if (container === '') return undefined
    if (isSealed?.(container) !== true) {
      this.extra.add(item, summaryFields, 'settings')
      return item
    }
    const signedReasoning = openReasoning(container, '', { model, unseal })?.signed
    return signedReasoning?.field === reasoningItemsField ? signedReasoning.value : undefined
  }
}

const summaryFields = toNameSet('type summary content')

const maxNameLength = 64

/** An id or a word, or nothing. Others are rejected. */
function isName(value: unknown): boolean {
  return isAbsent(value) || (typeof value === 'string' && value !== '' && value.length <= maxNameLength)
}
