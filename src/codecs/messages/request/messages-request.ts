/** Translates a chat completion request to a request of the Messages API. Fields are described in `docs/upstreams.md`. */
import { effortField, thinkingSettingsField } from '../../../exchange/request/anthropic-fields.ts'
import { isRecord } from '../../../exchange/request/chat-request.ts'
import { readPreparedParts } from '../../../exchange/request/prepared-parts.ts'
import type { PreparedParts } from '../../../exchange/request/prepared-parts.ts'
import { readRawJson } from '../../../exchange/request/raw-json.ts'
import type { JsonObject as JsonFields } from '../../../exchange/api-format/api-format.ts'
import { toConversation } from './messages-conversation.ts'
import { toToolChoice, toTools } from './messages-tools.ts'

/** The API requires a cap. The gateway always has one, except for a request of its own without a hold. */
const defaultMaxTokens = 4_096

/** @throws GatewayError `invalid_request` for a part or a tool that the API has no place for */
export function prepareMessagesParts({ messages, tools }: JsonFields): Pick<PreparedParts, 'fields' | 'facts'> {
  const { system, messages: turns, lacksThinking } = toConversation(Array.isArray(messages) ? messages : [])
  return {
    fields: { ...(system.length === 0 ? {} : { system }), messages: turns, ...toTools(tools) },
    facts: { lacksThinking },
  }
}

/** @throws GatewayError like `prepareMessagesParts` */
export function toMessagesRequest(chat: JsonFields): Record<string, unknown> {
  const fields: JsonFields = Object.fromEntries(Object.entries(chat).map(([name, value]) => [name, readRawJson(value)]))
  const maxTokens = toNumber(fields['max_completion_tokens']) ?? toNumber(fields['max_tokens']) ?? defaultMaxTokens
  const parts: Omit<PreparedParts, 'dropped'> = readPreparedParts(chat) ?? prepareMessagesParts(fields)
  if (parts.facts['isNative'] === true) return toNativeMessages(fields, parts, maxTokens)
  const { system, messages, tools } = parts.fields
  // Without tools there is nothing to choose from.
  const toolChoice = tools === undefined ? null : toToolChoice(fields)
  const isForced = toolChoice?.type === 'any' || toolChoice?.type === 'tool'
  const lacksThinking = parts.facts['lacksThinking'] === true
  // A forced call and thinking exclude each other.
  const { thinking, effort }: Reasoning = isForced ? {} : toReasoning(fields, { maxTokens, lacksThinking })
  const isThinking = thinking !== undefined && thinking['type'] !== 'disabled'
  const user = fields['safety_identifier'] ?? fields['user']
  const stop = toStopSequences(fields['stop'])
  const format = toOutputFormat(fields['response_format'])
  const outputConfig = { ...(effort === undefined ? {} : { effort }), ...(format === null ? {} : { format }) }
  return {
    model: fields['model'],
    max_tokens: maxTokens,
    ...(system === undefined ? {} : { system }),
    messages,
    ...(tools === undefined ? {} : { tools }),
    ...(toolChoice === null ? {} : { tool_choice: toolChoice }),
    ...(isThinking ? {} : toSampling(fields)),
    ...(stop.length === 0 ? {} : { stop_sequences: stop }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(Object.keys(outputConfig).length === 0 ? {} : { output_config: outputConfig }),
    ...(typeof user === 'string' ? { metadata: { user_id: user } } : {}),
    ...(fields['stream'] === true ? { stream: true } : {}),
  }
}

/** A request that came in this API, with what the gateway sets and without what the target rejects. */
function toNativeMessages(
  { model, stream, user }: JsonFields,
  { fields, facts, rejected = new Set() }: Omit<PreparedParts, 'dropped'>,
  maxTokens: number,
): Record<string, unknown> {
  const { thinking, output_config: output, metadata: _, tool_choice: choice, ...rest } = fields
  const toolChoice = readRawJson(choice)
  const isForced = isRecord(toolChoice) && (toolChoice['type'] === 'any' || toolChoice['type'] === 'tool')
  const { effort, ...outputConfig } = readRecord(output)
  if (effort !== undefined && !rejected.has(effortField)) outputConfig['effort'] = effort
  const lacksThinking = facts['lacksThinking'] === true
  const sentThinking = isForced || rejected.has(thinkingSettingsField) ? {} : readRecord(thinking)
  const ownThinking = toThinking(sentThinking, { maxTokens, lacksThinking })
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([name]) => !rejected.has(name))),
    model,
    max_tokens: maxTokens,
    ...(toolChoice === undefined ? {} : { tool_choice: toolChoice }),
    ...(ownThinking === null ? {} : { thinking: { ...sentThinking, ...ownThinking } }),
    ...(Object.keys(outputConfig).length === 0 ? {} : { output_config: outputConfig }),
    ...(typeof user === 'string' ? { metadata: { user_id: user } } : {}),
    ...(stream === true ? { stream: true } : {}),
  }
}

function readRecord(value: unknown): Record<string, unknown> {
  const record = readRawJson(value)
  return isRecord(record) ? record : {}
}

function toNumber(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

/** A chat completion's temperature goes up to 2. Recent models reject `top_p` beside a temperature. */
function toSampling({ temperature, top_p: topP, top_k: topK }: JsonFields): JsonFields {
  return {
    ...(typeof temperature === 'number' ? { temperature: Math.min(1, Math.max(0, temperature)) } : {}),
    ...(typeof topP === 'number' && typeof temperature !== 'number' ? { top_p: topP } : {}),
    ...(typeof topK === 'number' && topK > 0 ? { top_k: topK } : {}),
  }
}

/** Sequences of white space are rejected. */
function toStopSequences(stop: unknown): readonly string[] {
  const all: readonly unknown[] = Array.isArray(stop) ? stop : [stop]
  return all.filter((text): text is string => typeof text === 'string' && text.trim() !== '')
}

/** `json_object` has no counterpart: its clients must ask for JSON in the prompt. */
function toOutputFormat(value: unknown): JsonFields | null {
  const schema = isRecord(value) && isRecord(value['json_schema']) ? value['json_schema']['schema'] : undefined
  return isRecord(schema) ? { type: 'json_schema', schema } : null
}

interface Reasoning {
  readonly thinking?: JsonFields
  readonly effort?: string
}

const efforts: Readonly<Record<string, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
}

/** The client's own settings of this API, else those that follow from `reasoning_effort`. */
function toReasoning(fields: JsonFields, context: { readonly maxTokens: number; readonly lacksThinking: boolean }): Reasoning {
  const { [effortField]: ownEffort, reasoning_effort: chatEffort } = fields
  const ownThinking = fields[thinkingSettingsField] ?? fields['thinking']
  if (ownThinking !== undefined || ownEffort !== undefined) {
    const thinking = toThinking(ownThinking, context)
    return { ...(thinking === null ? {} : { thinking }), ...(typeof ownEffort === 'string' ? { effort: ownEffort } : {}) }
  }
  const effort = typeof chatEffort === 'string' && Object.hasOwn(efforts, chatEffort) ? efforts[chatEffort] : undefined
  return effort === undefined ? {} : { thinking: { type: 'adaptive' }, effort }
}

/** A smaller budget is rejected. */
const minBudgetTokens = 1_024

/** The budget must fit below the cap, which the gateway may have lowered; and within a loop of tools every turn needs its thinking. */
function toThinking(
  value: unknown,
  { maxTokens, lacksThinking }: { readonly maxTokens: number; readonly lacksThinking: boolean },
): JsonFields | null {
  if (!isRecord(value)) return null
  const { type, budget_tokens: budget, display } = value
  const displayField = typeof display === 'string' ? { display } : {}
  if (type === 'disabled') return { type }
  if (type === 'adaptive') return { type, ...displayField }
  if (type !== 'enabled' || typeof budget !== 'number' || lacksThinking) return null
  const budgetTokens = Math.min(budget, maxTokens - 1)
  return budgetTokens < minBudgetTokens ? null : { type, budget_tokens: budgetTokens, ...displayField }
}
