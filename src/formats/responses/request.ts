/** Translates a request's fields. */
import type { ResponsesState } from '../../codecs/responses/response-encoder.ts'
import type { JsonObject, RequestContext, TranslatedRequest } from '../../exchange/api-format/api-format.ts'
import { customToolsField, summaryField } from '../../exchange/request/responses-fields.ts'
import { checkMetadata } from '../../exchange/request/metadata-bounds.ts'
import { invalidRequest } from '../../errors.ts'
import type { LocalizedText } from '../../errors.ts'
import {
  invalidField,
  isAbsent,
  isObject,
  readOptionalBoolean,
  readOptionalCount,
  readOptionalNumber,
  readOptionalText,
  requireList,
  requireObject,
  requireText,
} from '../shared/fields.ts'
import { openReasoning } from '../../codecs/shared/sealed-reasoning.ts'
import { Conversation } from './conversation.ts'
import { addDeclaredTools, addInput } from './input-items.ts'
import { toNativeRequest } from './native-request.ts'
import { serializeEcho } from '../../codecs/responses/response-object.ts'
import { ToolSet, toToolFields } from './tools.ts'

type FieldTranslator = (value: unknown, path: string) => JsonObject

/** Fields with a counterpart in a chat request. */
const translators: Readonly<Record<string, FieldTranslator>> = {
  stream: (value, path) =>
    readOptionalBoolean(value, path) === true ? { stream: true, stream_options: { include_usage: true } } : {},
  max_output_tokens: (value, path) => ({ max_completion_tokens: readOptionalCount(value, path) }),
  temperature: (value, path) => ({ temperature: readOptionalNumber(value, path) }),
  top_p: (value, path) => ({ top_p: readOptionalNumber(value, path) }),
  text: translateTextOptions,
  reasoning: translateReasoning,
  user: (value, path) => ({ user: readOptionalText(value, path) }),
  safety_identifier: (value, path) => ({ safety_identifier: readOptionalText(value, path) }),
  prompt_cache_key: (value, path) => ({ prompt_cache_key: readOptionalText(value, path) }),
}

/** Ignored fields whose value must still be of the right type: a client that sends another one means something else. */
const checks: Readonly<Record<string, (value: unknown, path: string) => unknown>> = {
  store: readOptionalBoolean,
  include: (value, path) => requireList(value, path).map((name, i) => requireText(name, `${path}[${i}]`)),
  metadata: checkMetadata,
  truncation: readOptionalText,
  service_tier: readOptionalText,
  max_tool_calls: readOptionalCount,
}

/** Fields that `translateRequest` reads itself. */
const ownFields: ReadonlySet<string> = new Set(['model', 'input', 'instructions', 'tools', 'tool_choice', 'parallel_tool_calls'])

/** Fields whose absence changes nothing in the answer, with the values that request nothing. Other values are named in the header. */
const ignoredFields: Readonly<Record<string, readonly unknown[] | 'any'>> = {
  store: [false],
  include: 'any',
  metadata: 'any',
  client_metadata: 'any',
  stream_options: 'any',
  truncation: ['disabled'],
  service_tier: ['auto', 'default'],
  top_logprobs: [0],
}

const statelessText: LocalizedText = {
  en: 'this service stores no responses. Send the whole conversation in `input`',
  zh: '此处不存储回答，请在 `input` 中发送完整对话',
}

/** Fields that change the answer and cannot be honoured. */
const refusedFields: Readonly<
  Record<string, { readonly isRequested: (value: unknown) => boolean; readonly text: LocalizedText }>
> = {
  previous_response_id: { isRequested: () => true, text: statelessText },
  conversation: { isRequested: () => true, text: statelessText },
  prompt: {
    isRequested: () => true,
    text: {
      en: 'this service stores no prompts. Send its text in `instructions` and `input`',
      zh: '此处不存储提示词，请在 `instructions` 和 `input` 中发送其内容',
    },
  },
  background: {
    isRequested: (value) => value !== false,
    text: {
      en: 'this service stores no responses that could be read later. Set it to false, and use `stream`',
      zh: '此处不存储可供稍后读取的回答，请设为 false 并使用 `stream`',
    },
  },
  context_management: {
    isRequested: (value) => !Array.isArray(value) || value.length > 0,
    text: { en: 'this service does not shorten conversations. Remove it', zh: '此处不压缩对话，请去掉该字段' },
  },
}

export function translateRequest(
  body: JsonObject,
  { unseal, isSealed, hostsSearch = false, targetApis }: RequestContext,
): TranslatedRequest<ResponsesState> {
  const model = requireText(body['model'], 'model')
  refuseFields(body)
  const hasOwnTarget = targetApis?.has('responses') === true
  const ignoredFields = new Set<string>()
  const tools = new ToolSet()
  tools.addList(body['tools'], 'tools')
  addDeclaredTools(body['input'], tools)
  if (hostsSearch) for (const field of tools.hostSearch(body['max_tool_calls'])) ignoredFields.add(field)
  const conversation = new Conversation()
  addInput(body['input'], {
    conversation,
    tools,
    ignored: ignoredFields,
    openReasoning: (container, shownText) => openReasoning(container, shownText, { model, unseal }),
  })
  const messages = conversation.toMessages(readOptionalText(body['instructions'], 'instructions') ?? '')
  if (messages.length === 0) throw invalidField('input', 'must hold at least one message', '至少要有一条消息')
  readOptionalBoolean(body['parallel_tool_calls'], 'parallel_tool_calls')
  const toolFields = toToolFields(tools, body)
  for (const { type } of tools.dropped) ignoredFields.add(`tools.${type}`)
  const fields = translateFields(body, ignoredFields)
  if (tools.search !== undefined) ignoredFields.delete('max_tool_calls')
  return {
    chat: {
      model,
      messages,
      ...dropAbsent(fields),
      ...toolFields,
      ...(hasOwnTarget ? keepFields(body, tools) : {}),
    },
    state: {
      tools: tools.map,
      echoed: echoFields(body, tools),
      isCodex: isCodex(body),
      includesSources: isIncluded(body, 'web_search_call.action.sources'),
    },
    ignored: [...ignoredFields],
    hostedSearch: tools.search,
    ...(hasOwnTarget && tools.search === undefined ? { native: toNativeRequest(body, { model, unseal, isSealed, tools }) } : {}),
  }
}

/** What a chat completion has no place for, for upstreams of this API. */
function keepFields({ reasoning }: JsonObject, { customTools }: ToolSet): JsonObject {
  const summary = isObject(reasoning) ? reasoning['summary'] : undefined
  return {
    ...(customTools.length === 0 ? {} : { [customToolsField]: customTools }),
    ...(typeof summary === 'string' ? { [summaryField]: summary } : {}),
  }
}

function refuseFields(body: JsonObject): void {
  for (const [field, { isRequested, text }] of Object.entries(refusedFields)) {
    const value = body[field]
    if (isAbsent(value) || !isRequested(value)) continue
    throw invalidRequest({ en: `'${field}' cannot be used here: ${text.en}.`, zh: `此处不能使用 '${field}':${text.zh}。` }, field)
  }
}

function translateFields(body: JsonObject, ignored: Set<string>): JsonObject {
  const fields: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(body)) {
    if (isAbsent(value) || ownFields.has(field) || Object.hasOwn(refusedFields, field)) continue
    if (Object.hasOwn(checks, field)) checks[field]?.(value, field)
    const translate = Object.hasOwn(translators, field) ? translators[field] : undefined
    if (translate !== undefined) Object.assign(fields, translate(value, field))
    else if (!requestsNothing(field, value)) ignored.add(field)
  }
  return fields
}

function requestsNothing(field: string, value: unknown): boolean {
  const values = Object.hasOwn(ignoredFields, field) ? ignoredFields[field] : undefined
  return values === 'any' || values?.includes(value) === true
}

function translateReasoning(value: unknown, path: string): JsonObject {
  const { effort, summary } = requireObject(value, path)
  readOptionalText(summary, `${path}.summary`)
  return { reasoning_effort: readOptionalText(effort, `${path}.effort`) }
}

function translateTextOptions(value: unknown, path: string): JsonObject {
  const { format, verbosity } = requireObject(value, path)
  return {
    ...(isAbsent(format) ? {} : toResponseFormat(requireObject(format, `${path}.format`), `${path}.format`)),
    verbosity: readOptionalText(verbosity, `${path}.verbosity`),
  }
}

function toResponseFormat(format: JsonObject, path: string): JsonObject {
  const { type, name, schema } = format
  switch (type) {
    case 'text':
      return {}
    case 'json_object':
      return { response_format: { type } }
    case 'json_schema': {
      const description = readOptionalText(format['description'], `${path}.description`)
      const strict = readOptionalBoolean(format['strict'], `${path}.strict`)
      const jsonSchema: JsonObject = {
        name: requireText(name, `${path}.name`),
        ...(description === undefined ? {} : { description }),
        schema: requireObject(schema, `${path}.schema`),
        ...(strict === undefined ? {} : { strict }),
      }
      return { response_format: { type, json_schema: jsonSchema } }
    }
    default:
      throw invalidField(
        `${path}.type`,
        "must be 'text', 'json_object' or 'json_schema'",
        "必须是 'text'、'json_object' 或 'json_schema'",
      )
  }
}

/** A stream has them in each event of the response object, and a client of a slow model receives many. */
const maxStreamedEchoLength = 16 * 1024

/**
 * Tools and instructions are repeated in whole answers only. In a stream they would stand in three events, and agents send 40 KB of them with
 * each turn.
 */
function echoFields(body: JsonObject, tools: ToolSet): string {
  const { stream, instructions, tool_choice, parallel_tool_calls, text, reasoning, metadata } = body
  const { temperature, top_p, max_output_tokens, user, safety_identifier, prompt_cache_key } = body
  const long = stream === true ? {} : { instructions: instructions ?? null, tools: tools.declared }
  const fields = {
    ...long,
    ...dropAbsent({
      tool_choice,
      parallel_tool_calls,
      temperature,
      top_p,
      max_output_tokens,
      user,
      safety_identifier,
      prompt_cache_key,
    }),
    ...(isObject(metadata) ? { metadata } : {}),
    ...(isObject(text) ? { text: { ...dropAbsent(text), format: completeFormat(text['format']) } } : {}),
    ...(isObject(reasoning) ? { reasoning: { effort: reasoning['effort'] ?? null, summary: reasoning['summary'] ?? null } } : {}),
  }
  return serializeEcho(fields, stream === true ? maxStreamedEchoLength : Infinity)
}

/** The format with every field that the schema of a response requires. */
function completeFormat(format: unknown): JsonObject {
  if (!isObject(format)) return { type: 'text' }
  return format['type'] === 'json_schema' ? { description: null, strict: false, ...dropAbsent(format) } : format
}

function dropAbsent(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isAbsent(value)))
}

function isIncluded({ include }: JsonObject, field: string): boolean {
  return Array.isArray(include) && include.includes(field)
}

function isCodex({ client_metadata: metadata }: JsonObject): boolean {
  return isObject(metadata) && Object.keys(metadata).some((name) => name.startsWith('x-codex-'))
}
