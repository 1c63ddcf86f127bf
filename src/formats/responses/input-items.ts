/** Translates the items of `input`. */
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { toText } from '../../codecs/shared/read-json.ts'
import { invalidRequest } from '../../errors.ts'
import type { GatewayError, LocalizedText } from '../../errors.ts'
import { invalidField, isAbsent, isObject, readOptionalText, requireList, requireObject, requireText } from '../shared/fields.ts'
import type { Reasoning } from '../../codecs/shared/sealed-reasoning.ts'
import { joinTexts, translateParts } from './content-parts.ts'
import type { Conversation } from './conversation.ts'
import { CalledToolFinder, toFunctionName } from '../../codecs/shared/tool-names.ts'
import type { ToolSet } from './tools.ts'

interface InputContext {
  readonly conversation: Conversation
  /** Finds the declared tool that an item names. */
  readonly calledTools: CalledToolFinder
  /** Names of the ignored items. */
  readonly ignored: Set<string>
  openReasoning(container: unknown, shownText: string): Reasoning | null
}

type ItemTranslator = (item: JsonObject, path: string, context: InputContext) => void

/** By `type`. An item of a type that is not here is ignored, and named in the header of dropped fields. */
const translators: Readonly<Record<string, ItemTranslator>> = {
  message: addMessage,
  agent_message: addAgentMessage,
  reasoning: addReasoning,
  function_call: addFunctionCall,
  function_call_output: addResult,
  custom_tool_call: addCustomCall,
  custom_tool_call_output: addResult,
  local_shell_call: addLocalShellCall,
  local_shell_call_output: addResult,
  tool_search_call: addToolSearchCall,
  tool_search_output: addToolSearchResult,
  // Their tools were read before; see `addDeclaredTools`.
  additional_tools: () => undefined,
  configuration_update: () => undefined,
  item_reference: refuseReference,
  compaction: refuseCompaction,
  compaction_summary: refuseCompaction,
  context_compaction: refuseCompaction,
  compaction_trigger: refuseCompaction,
}

export function addInput(
  input: unknown,
  { tools, ...options }: Omit<InputContext, 'calledTools'> & { readonly tools: ToolSet },
): void {
  const context: InputContext = { ...options, calledTools: new CalledToolFinder(tools.map) }
  if (typeof input === 'string') return context.conversation.addMessage('user', translateParts(input, 'input'))
  for (const [i, value] of requireInputList(input).entries()) {
    const path = `input[${i}]`
    const item = requireObject(value, path)
    const type = getItemType(item, path)
    const translate = Object.hasOwn(translators, type) ? translators[type] : undefined
    if (translate === undefined) context.ignored.add(`input.${type}`)
    else translate(item, path, context)
  }
}

/** Tools inside `input`: Codex declares them there for some models, and returns those that it found by search. */
export function addDeclaredTools(input: unknown, tools: ToolSet): void {
  if (!Array.isArray(input)) return
  for (const [i, item] of (input as unknown[]).entries())
    if (isObject(item) && (item['type'] === 'additional_tools' || item['type'] === 'tool_search_output'))
      tools.addList(item['tools'], `input[${i}].tools`)
}

function requireInputList(input: unknown): readonly unknown[] {
  if (!Array.isArray(input)) throw invalidField('input', 'must be a string or an array of items', '必须是字符串或条目数组')
  return input
}

function getItemType(item: JsonObject, path: string): string {
  const { type, role, id } = item
  if (!isAbsent(type)) return requireText(type, `${path}.type`)
  if (!isAbsent(role)) return 'message'
  if (typeof id === 'string') return 'item_reference'
  throw invalidField(`${path}.type`, 'must be the type of an item', '必须是条目类型')
}

function addMessage(item: JsonObject, path: string, { conversation }: InputContext): void {
  const { role } = item
  const parts = translateParts(item['content'], `${path}.content`)
  switch (role) {
    case 'assistant':
      return conversation.addAssistantText(joinTexts(parts, ''))
    case 'user':
    case 'system':
    case 'developer':
      // A message without content says nothing, and some servers reject it.
      if (parts.length > 0) conversation.addMessage(role, parts)
      return
    default:
      throw invalidField(
        `${path}.role`,
        "must be 'user', 'assistant', 'system' or 'developer'",
        "必须是 'user'、'assistant'、'system' 或 'developer'",
      )
  }
}

/** A message of another agent of the same program. */
function addAgentMessage(item: JsonObject, path: string, { conversation }: InputContext): void {
  const parts = translateParts(item['content'], `${path}.content`)
  if (parts.length > 0) conversation.addMessage('user', parts)
}

function addReasoning(item: JsonObject, path: string, { conversation, openReasoning }: InputContext): void {
  // Models with open weights show their reasoning in `content`, others a summary.
  const shownText = readTexts(item['content']) || readTexts(item['summary'])
  const reasoning = openReasoning(readOptionalText(item['encrypted_content'], `${path}.encrypted_content`), shownText)
  if (reasoning !== null) conversation.addReasoning(reasoning)
}

function readTexts(parts: unknown): string {
  if (!Array.isArray(parts)) return ''
  return (parts as unknown[]).flatMap((part) => (isObject(part) ? toText(part['text']) || [] : [])).join('\n\n')
}

function addFunctionCall(item: JsonObject, path: string, context: InputContext): void {
  const { arguments: args } = item
  if (!isAbsent(args) && typeof args !== 'string') throw invalidField(`${path}.arguments`, 'must be a string', '必须是字符串')
  context.conversation.addCall(readCallId(item, path), readFunctionName(item, path, context), args || '{}')
}

function addCustomCall(item: JsonObject, path: string, context: InputContext): void {
  const { input } = item
  if (typeof input !== 'string') throw invalidField(`${path}.input`, 'must be a string', '必须是字符串')
  context.conversation.addCall(readCallId(item, path), readFunctionName(item, path, context), JSON.stringify({ input }))
}

function addLocalShellCall(item: JsonObject, path: string, { conversation }: InputContext): void {
  conversation.addCall(readCallId(item, path), 'local_shell', JSON.stringify(item['action'] ?? {}))
}

function addToolSearchCall(item: JsonObject, path: string, { conversation, ignored }: InputContext): void {
  // A search that the service ran has no call id.
  if (isAbsent(item['call_id'])) return void ignored.add('input.tool_search_call')
  const { arguments: args } = item
  conversation.addCall(readCallId(item, path), 'tool_search', typeof args === 'string' ? args : JSON.stringify(args ?? {}))
}

function addToolSearchResult(item: JsonObject, path: string, { conversation }: InputContext): void {
  if (isAbsent(item['call_id'])) return
  const names = requireList(item['tools'] ?? [], `${path}.tools`).flatMap(listToolNames)
  const text = names.length === 0 ? 'No tool was found.' : `These tools are available now: ${names.join(', ')}.`
  conversation.addResult(readCallId(item, path), [{ type: 'text', text }])
}

function listToolNames(tool: unknown): readonly string[] {
  if (!isObject(tool) || typeof tool['name'] !== 'string') return []
  const { name, tools } = tool
  if (tool['type'] !== 'namespace' || !Array.isArray(tools)) return [toFunctionName({ name })]
  return tools.filter(isObject).map((child) => toFunctionName({ name: toText(child['name']), namespace: name }))
}

function addResult(item: JsonObject, path: string, { conversation }: InputContext): void {
  const callId = isAbsent(item['call_id']) ? requireText(item['id'], `${path}.call_id`) : readCallId(item, path)
  conversation.addResult(callId, translateParts(item['output'], `${path}.output`))
}

function readCallId(item: JsonObject, path: string): string {
  return requireText(item['call_id'] ?? item['id'], `${path}.call_id`)
}

/** A client may return a call without its namespace. */
function readFunctionName(item: JsonObject, path: string, { calledTools }: InputContext): string {
  const name = requireText(item['name'], `${path}.name`)
  const namespace = readOptionalText(item['namespace'], `${path}.namespace`) ?? ''
  if (namespace !== '') return toFunctionName({ name, namespace })
  return toFunctionName(calledTools.findOnly(name) ?? { name })
}

function refuseReference(_item: JsonObject, path: string): void {
  throw refuse(path, {
    en: `'${path}' refers to a stored item, and this service stores none. Send the items themselves: set 'store' to false in your client (in the Vercel AI SDK: providerOptions.openai.store = false).`,
    zh: `'${path}' 引用了已存储的条目，而此处不存储任何条目。请直接发送内容：在客户端中将 'store' 设为 false（Vercel AI SDK:providerOptions.openai.store = false）。`,
  })
}

function refuseCompaction(_item: JsonObject, path: string): void {
  throw refuse(path, {
    en: `'${path}' is a history that another service shortened and encrypted, or requests one. Send the history itself, or start a new conversation.`,
    zh: `'${path}' 是由其他服务压缩并加密的历史（或请求这样的压缩）。请发送原始历史，或开始新的对话。`,
  })
}

function refuse(path: string, detail: LocalizedText): GatewayError {
  return invalidRequest(detail, path)
}
