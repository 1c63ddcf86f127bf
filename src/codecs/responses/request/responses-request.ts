/** Translates a chat completion request to a request of the Responses API. Fields are described in `docs/upstreams.md`. */
import { invalidRequest } from '../../../errors.ts'
import { isRecord } from '../../../exchange/request/chat-request.ts'
import { readPreparedParts } from '../../../exchange/request/prepared-parts.ts'
import type { PreparedParts } from '../../../exchange/request/prepared-parts.ts'
import { readRawJson } from '../../../exchange/request/raw-json.ts'
import { customToolsField, encryptedReasoningField, summaryField } from '../../../exchange/request/responses-fields.ts'
import type { JsonObject as JsonFields } from '../../../exchange/api-format/api-format.ts'
import { toInputItems } from './input-items.ts'
import { readCustomTools, toToolFields, toTools } from './request-tools.ts'

/** A smaller cap is rejected. */
const minOutputTokens = 16

/** Fields that are sent under another name, or in another form. */
const translatedFields: ReadonlySet<string> = new Set([
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'verbosity',
  'reasoning_effort',
  'logprobs',
  'top_logprobs',
  'n',
  'stream',
  'stream_options',
  'store',
  customToolsField,
  summaryField,
  encryptedReasoningField,
])

/** @throws GatewayError `invalid_request` for a part or a tool that the API has no place for */
export function prepareResponsesParts(chat: JsonFields): Pick<PreparedParts, 'fields' | 'facts'> {
  const { messages, tools } = chat
  const customTools = readCustomTools(chat)
  const { instructions, items } = toInputItems(Array.isArray(messages) ? messages : [], new Set(customTools.keys()))
  return {
    fields: { ...(instructions === '' ? {} : { instructions }), input: items, ...toTools(tools, customTools) },
    facts: {},
  }
}

/** @throws GatewayError `invalid_request` for what the API has no place for */
export function toResponsesRequest(chat: JsonFields): Record<string, unknown> {
  const fields: JsonFields = Object.fromEntries(Object.entries(chat).map(([name, value]) => [name, readRawJson(value)]))
  refuseChoices(fields['n'])
  const preparedParts: Omit<PreparedParts, 'dropped'> = readPreparedParts(chat) ?? prepareResponsesParts(fields)
  if (preparedParts.facts['isNative'] === true) return toNativeResponses(fields, preparedParts)
  const { fields: parts } = preparedParts
  const include = toInclude(fields)
  const text = toTextOptions(fields)
  const reasoning = toReasoning(fields)
  return {
    // Fields of the same name, and those that the operator lets pass.
    ...Object.fromEntries(Object.entries(fields).filter(([name]) => !translatedFields.has(name))),
    ...parts,
    ...(parts['tools'] === undefined ? {} : toToolFields(fields)),
    ...toCap(fields),
    ...(text === null ? {} : { text }),
    ...(reasoning === null ? {} : { reasoning }),
    ...(fields['logprobs'] === true && typeof fields['top_logprobs'] === 'number'
      ? { top_logprobs: fields['top_logprobs'] }
      : {}),
    ...(include.length === 0 ? {} : { include }),
    // Nothing of a member's conversation stays in the operator's account.
    store: false,
    ...(fields['stream'] === true ? { stream: true } : {}),
  }
}

/** A request that came in this API, with what the gateway sets and without what the target rejects. */
function toNativeResponses(
  fields: JsonFields,
  { fields: native, rejected = new Set() }: Omit<PreparedParts, 'dropped'>,
): Record<string, unknown> {
  const { text, reasoning, include, ...rest } = Object.fromEntries(
    Object.entries(native).filter(([name]) => !rejected.has(name) && (name !== 'stream_options' || fields['stream'] === true)),
  )
  const isKept = !rejected.has(encryptedReasoningField)
  const includedNames = readRawJson(include)
  const names = (Array.isArray(includedNames) ? (includedNames as unknown[]) : []).filter((name) => name !== encryptedContent)
  const all = isKept ? [encryptedContent, ...names] : names
  const settings = Object.entries(omittedSettings).flatMap(([name, setting]) => (rejected.has(name) ? setting : []))
  const { model, user, safety_identifier: safetyIdentifier, prompt_cache_key: cacheKey } = fields
  return {
    ...rest,
    ...Object.fromEntries(
      Object.entries({ text: readRawJson(text), reasoning: readRawJson(reasoning) }).flatMap(([name, value]) => {
        if (!isRecord(value)) return []
        return [[name, Object.fromEntries(Object.entries(value).filter(([setting]) => !settings.includes(setting)))]]
      }),
    ),
    ...(all.length === 0 ? {} : { include: all }),
    ...toCap(fields),
    // Accounts share the operator's credential: these are pseudonyms.
    model,
    user,
    safety_identifier: safetyIdentifier,
    prompt_cache_key: cacheKey,
    store: false,
    ...(fields['stream'] === true ? { stream: true } : {}),
  }
}

const encryptedContent = 'reasoning.encrypted_content'

/** Settings within `text` and `reasoning`, by the field that a target has rejected. */
const omittedSettings: Readonly<Record<string, string>> = {
  [summaryField]: 'summary',
  reasoning_effort: 'effort',
  verbosity: 'verbosity',
}

function toCap({ max_completion_tokens: cap, max_tokens: earlier }: JsonFields): JsonFields {
  const tokens = cap ?? earlier
  return typeof tokens === 'number' ? { max_output_tokens: Math.max(tokens, minOutputTokens) } : {}
}

/** An answer has one choice. */
function refuseChoices(n: unknown): void {
  if (typeof n !== 'number' || n <= 1) return
  throw invalidRequest(
    { en: "'n' must be 1: this model gives one answer to a request.", zh: "'n' 必须为 1：该模型每次请求只返回一个回答。" },
    'n',
  )
}

function toInclude({ [encryptedReasoningField]: isReasoningKept, logprobs }: JsonFields): readonly string[] {
  return [...(isReasoningKept === true ? [encryptedContent] : []), ...(logprobs === true ? ['message.output_text.logprobs'] : [])]
}

function toTextOptions({ response_format: format, verbosity }: JsonFields): JsonFields | null {
  const options = {
    ...(isRecord(format) ? { format: toFormat(format) } : {}),
    ...(typeof verbosity === 'string' ? { verbosity } : {}),
  }
  return Object.keys(options).length === 0 ? null : options
}

function toFormat({ type, json_schema: schema }: JsonFields): JsonFields {
  return isRecord(schema) ? { type, ...schema } : { type }
}

function toReasoning({ reasoning_effort: effort, [summaryField]: summary }: JsonFields): JsonFields | null {
  const reasoning = {
    ...(typeof effort === 'string' ? { effort } : {}),
    ...(typeof summary === 'string' ? { summary } : {}),
  }
  return Object.keys(reasoning).length === 0 ? null : reasoning
}
