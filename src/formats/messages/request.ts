/** Translates a request of the Messages API to a chat completion request. */
import type { MessagesState } from '../../codecs/messages/message-encoder.ts'
import type { JsonObject, RequestContext, TranslatedRequest } from '../../exchange/api-format/api-format.ts'
import { effortField, thinkingSettingsField } from '../../exchange/request/anthropic-fields.ts'
import { checkUserMetadata } from '../../exchange/request/metadata-bounds.ts'
import { invalidRequest } from '../../errors.ts'
import { ConversationBuilder } from './conversation.ts'
import {
  invalidField,
  isAbsent,
  isObject,
  readOptionalBoolean,
  readOptionalCount,
  readOptionalNumber,
  readOptionalObject,
  readOptionalText,
  requireList,
  requireObject,
  requireText,
} from '../shared/fields.ts'
import { toNativeRequest } from './native-request.ts'
import { translateToolChoice, translateTools } from './tools.ts'

/** Fields that change where or how the request runs, and that this service does not have. */
const refusedFields = ['container', 'mcp_servers'] as const

/** Fields that are translated, or that no answer depends on. Others are named in the header of dropped fields. */
const silentFields: ReadonlySet<string> = new Set(
  `model messages system max_tokens stream tools tool_choice temperature top_p top_k stop_sequences thinking output_config output_format
  metadata service_tier context_management diagnostics cache_control container mcp_servers`.split(/\s+/),
)

export function toChat(
  body: JsonObject,
  { unseal, isSealed, hostsSearch = false, targetApis }: RequestContext,
): TranslatedRequest<MessagesState> {
  refuseUnsupported(body)
  const hasOwnTarget = targetApis?.has('anthropic') === true
  const model = requireText(body['model'], 'model')
  checkUserMetadata(body['metadata'], 'metadata')
  const ignoredNames = new Set(Object.keys(body).filter((field) => !silentFields.has(field) && !isAbsent(body[field])))
  const { tools, names, hosted, search, ignored: ignoredFields } = translateTools(body['tools'], { hostsSearch })
  for (const field of ignoredFields) ignoredNames.add(field)
  for (const { type } of hosted) ignoredNames.add(`tools.${type}`)
  const stopSequences = readStopSequences(body['stop_sequences'])
  const conversation = new ConversationBuilder({ model, unseal, ignored: ignoredNames })
  conversation.addSystem(body['system'], 'system')
  const { messages } = body
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalidField('messages', 'must be an array with at least one message', '必须是至少包含一条消息的数组')
  messages.forEach((message: unknown, i) => conversation.addMessage(message, `messages[${i}]`))
  const stream = readOptionalBoolean(body['stream'], 'stream') === true
  const reasoning = readReasoning(body)
  conversation.markEnd(body['cache_control'])
  const chat: JsonObject = {
    model,
    messages: conversation.finish(),
    max_tokens: requireTokenCount(body['max_tokens']),
    ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
    ...readNumbers(body, ['temperature', 'top_p', 'top_k']),
    ...(stopSequences.length === 0 ? {} : { stop: stopSequences }),
    ...(tools.length === 0 ? {} : { tools }),
    ...translateToolChoice(body['tool_choice'], { tools, names, hosted }),
    ...translateReasoning(reasoning),
    ...(hasOwnTarget ? keepReasoningSettings(reasoning) : {}),
    ...translateOutputFormat(body),
  }
  const state = { model, toolNames: names.originals(), stopSequences }
  const native = hasOwnTarget && search === undefined ? toNativeRequest(body, { model, unseal, isSealed }) : undefined
  return { chat, state, ignored: [...ignoredNames], hostedSearch: search, native, sessionMark: readUserId(body['metadata']) }
}

/** Claude Code writes the id of its session into it. */
function readUserId(metadata: unknown): string | undefined {
  const userId = isObject(metadata) ? metadata['user_id'] : undefined
  return typeof userId === 'string' && userId !== '' ? userId : undefined
}

function refuseUnsupported(body: JsonObject): void {
  for (const field of refusedFields) {
    const value = body[field]
    if (isAbsent(value) || (Array.isArray(value) && value.length === 0)) continue
    throw invalidRequest(
      { en: `'${field}' is not supported here; remove it.`, zh: `此处不提供 '${field}'，请去掉该字段。` },
      field,
    )
  }
}

function requireTokenCount(value: unknown): number {
  const count = readOptionalCount(value, 'max_tokens')
  if (count === undefined) throw invalidField('max_tokens', 'is required', '为必填项')
  return count
}

function readNumbers(body: JsonObject, fields: readonly string[]): JsonObject {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = readOptionalNumber(body[field], field)
      return value === undefined ? [] : [[field, value]]
    }),
  )
}

function readStopSequences(value: unknown): readonly string[] {
  if (isAbsent(value)) return []
  return requireList(value, 'stop_sequences').map((text, i) => requireText(text, `stop_sequences[${i}]`))
}

/** Budgets of `thinking.budget_tokens` up to which the effort is low or medium. */
const maxLowBudget = 2048
const maxMediumBudget = 8192

/**
 * `high` is the default of this API: Claude Code sends it with every request, and models without reasoning reject the field. It means the
 * upstream's own default.
 */
const efforts: Readonly<Record<string, string>> = {
  minimal: 'minimal',
  low: 'low',
  medium: 'medium',
  xhigh: 'high',
  max: 'high',
}

interface ReasoningSettings {
  /** As sent. */
  readonly thinking: JsonObject | undefined
  readonly type: string | undefined
  readonly budget: number | undefined
  readonly effort: string | undefined
}

function readReasoning({ thinking: sent, output_config: outputConfig }: JsonObject): ReasoningSettings {
  const thinking = readOptionalObject(sent, 'thinking')
  return {
    thinking,
    type: readOptionalText(thinking?.['type'], 'thinking.type'),
    budget: readOptionalNumber(thinking?.['budget_tokens'], 'thinking.budget_tokens'),
    effort: readOptionalText(readOptionalObject(outputConfig, 'output_config')?.['effort'], 'output_config.effort'),
  }
}

/** `disabled` wins over an effort, because Claude Code sends both for its helpers. */
function translateReasoning({ type, budget, effort }: ReasoningSettings): JsonObject {
  if (type === 'disabled') return {}
  if (type === 'enabled' && budget !== undefined)
    return { reasoning_effort: budget <= maxLowBudget ? 'low' : budget <= maxMediumBudget ? 'medium' : 'high' }
  return effort !== undefined && Object.hasOwn(efforts, effort) ? { reasoning_effort: efforts[effort] } : {}
}

/** As sent, for upstreams of this API. */
function keepReasoningSettings({ thinking, effort }: ReasoningSettings): JsonObject {
  return {
    ...(thinking === undefined ? {} : { [thinkingSettingsField]: thinking }),
    ...(effort === undefined ? {} : { [effortField]: effort }),
  }
}

/** `output_format` is the earlier name. */
function translateOutputFormat({ output_config: config, output_format: earlier }: JsonObject): JsonObject {
  const inConfig = isObject(config) ? config['format'] : undefined
  const [value, path] = isAbsent(inConfig) ? [earlier, 'output_format'] : [inConfig, 'output_config.format']
  if (isAbsent(value)) return {}
  const format = requireObject(value, path)
  if (format['type'] !== 'json_schema') throw invalidField(`${path}.type`, "must be 'json_schema'", "必须是 'json_schema'")
  const schema = requireObject(format['schema'], `${path}.schema`)
  return { response_format: { type: 'json_schema', json_schema: { name: 'output', schema, strict: isStrict(schema) } } }
}

/** Whether OpenAI's strict mode accepts the schema: every object names all its properties as required, and allows no others. */
export function isStrict(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict)
  if (!isObject(schema)) return true
  const { properties, required, additionalProperties } = schema
  if (isObject(properties)) {
    if (additionalProperties !== false || !Array.isArray(required)) return false
    const names = new Set<unknown>(required)
    if (!Object.keys(properties).every((name) => names.has(name))) return false
  }
  return Object.values(schema).every(isStrict)
}
