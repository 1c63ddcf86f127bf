/**
 * Decides which fields of a request are forwarded. Without it a member could name other models, providers, prices, addresses and keys to
 * upstreams that read such fields (OpenRouter, LiteLLM), or buy extras that have no price here.
 *
 * Known fields are forwarded. Fields that are known to choose or to buy are rejected, because the member would get something other than
 * requested. All other fields are dropped and named in a header: clients send much that no upstream needs, and must not fail for it.
 */
import { invalidRequest } from '../../errors.ts'
import type { GatewayError } from '../../errors.ts'
import { effortField, thinkingSettingsField } from './anthropic-fields.ts'
import { geminiSettingsField, thinkingConfigField } from './gemini-fields.ts'
import { customToolsField, summaryField } from './responses-fields.ts'
import { getFields, isRecord } from './chat-request.ts'
import type { ChatRequest } from './chat-request.ts'
import { findNativeExtra } from './form/native-request.ts'
import { getAnalysis } from './request-analysis.ts'
import type { FieldViolation, FieldViolations } from './request-analysis.ts'
import { RawJson } from './raw-json.ts'
import { findOutsideReference, findTemplateSetting } from './server-read-values.ts'

/** OpenAI's fields, except those that cost more, store more, or belong to the operator's account. */
const openaiFieldNames = splitWords(`
  model messages stream stream_options max_tokens max_completion_tokens n user safety_identifier
  temperature top_p frequency_penalty presence_penalty logit_bias logprobs top_logprobs seed stop
  tools tool_choice parallel_tool_calls functions function_call response_format verbosity
  reasoning_effort prompt_cache_key moderation`)

/** Sampling, reasoning and output format, as in vLLM, SGLang, llama.cpp, Ollama, TGI, DeepSeek, Mistral, Qwen and OpenRouter. */
const compatibleFieldNames = splitWords(`
  top_k min_p top_a typical_p tfs_z top_n_sigma repetition_penalty repeat_penalty repeat_last_n no_repeat_ngram_size length_penalty
  mirostat mirostat_tau mirostat_eta dynatemp_range dynatemp_exponent xtc_probability xtc_threshold
  dry_multiplier dry_base dry_allowed_length dry_sequence_breakers random_seed
  stop_token_ids include_stop_str_in_output ignore_eos min_tokens bad_words skip_special_tokens spaces_between_special_tokens
  add_generation_prompt continue_final_message safe_prompt
  guided_json guided_regex guided_choice guided_grammar structured_outputs grammar json_schema regex ebnf
  reasoning include_reasoning reasoning_format separate_reasoning thinking enable_thinking thinking_budget chat_template_kwargs`)

/** What the translation to the Messages API has a place for (`src/codecs/messages/request/`). */
const anthropicFieldNames = splitWords(`
  model messages stream stream_options max_tokens max_completion_tokens user safety_identifier temperature top_p top_k stop
  tools tool_choice parallel_tool_calls response_format reasoning_effort thinking ${thinkingSettingsField} ${effortField}`)

/** What the translation to Gemini's API has a place for (`src/codecs/gemini/`). */
const geminiFieldNames = splitWords(`
  model messages stream stream_options max_tokens max_completion_tokens temperature top_p top_k presence_penalty frequency_penalty
  seed stop tools tool_choice response_format reasoning_effort ${thinkingConfigField} ${geminiSettingsField}`)

/** What the translation to the Responses API has a place for, and `n`, which it refuses (`src/codecs/responses/request/`). */
const responsesFieldNames = splitWords(`
  model messages stream stream_options max_tokens max_completion_tokens n user safety_identifier temperature top_p
  logprobs top_logprobs tools tool_choice parallel_tool_calls response_format verbosity reasoning_effort prompt_cache_key
  ${customToolsField} ${summaryField}`)

const knownFields = {
  openai: new Set(openaiFieldNames),
  anthropic: new Set(anthropicFieldNames),
  gemini: new Set(geminiFieldNames),
  responses: new Set(responsesFieldNames),
  compatible: new Set([...openaiFieldNames, ...compatibleFieldNames]),
} as const

/** Fields of an image request besides the prompt. */
const imageFields: ReadonlySet<string> = new Set(
  splitWords(
    `size quality style background output_format output_compression aspect_ratio negative_prompt seed moderation temperature top_p`,
  ),
)

/** Fields that choose models, providers, addresses, keys or prompts, and fields that buy. */
const forbiddenFields: ReadonlySet<string> = new Set(
  splitWords(`
  models fallbacks fallback_models context_window_fallbacks content_policy_fallbacks model_list route provider providers preset plugins
  custom_llm_provider deployment_id engine lora_path lora_request adapter_id
  api_base base_url api_key api_version azure_ad_token organization extra_body extra_headers headers
  web_search_options web_search search_parameters enable_search search_options audio best_of use_beam_search
  mock_response mcp_servers container file_ids`),
)

/** Of these, the fields whose empty object requests nothing. */
const emptyObjectFields: ReadonlySet<string> = new Set([
  'provider',
  'providers',
  'extra_body',
  'extra_headers',
  'headers',
  'container',
])

/** Fields of OpenAI that cost more. */
const costFields: ReadonlySet<string> = new Set(['service_tier', 'store'])

/** Dropped without a header, because ordinary clients send them. */
const silentFields: ReadonlySet<string> = new Set([
  'service_tier',
  'store',
  'metadata',
  'modalities',
  thinkingSettingsField,
  effortField,
  customToolsField,
  summaryField,
  thinkingConfigField,
  geminiSettingsField,
])

export interface FieldPolicy {
  readonly kind: Exclude<keyof typeof knownFields, 'responses'>
  /** Chats are sent to its Responses API. */
  readonly responses: boolean
  readonly passRequestFields: readonly string[]
  readonly passCostFields: boolean
}

/** The first field that chooses or buys, or that has a value which a model server may follow; null if there is none. `getAllowedFields` returns the fields that the operator allows. */
export function findForbiddenField(
  chat: Pick<ChatRequest, 'body'>,
  getAllowedFields: () => ReadonlySet<string>,
): GatewayError | null {
  const { fields, tool, part, values } = getAnalysis(chat)?.violations ?? findFieldViolations(chat)
  if (fields.length === 0 && tool === null && part === null && values.length === 0) return null
  const allowedFields = getAllowedFields()
  const field = fields.find((name) => !allowedFields.has(name))
  if (field !== undefined)
    return invalidRequest(
      { en: `'${field}' is not supported here; remove it.`, zh: `此处不提供 '${field}'，请去掉该字段。` },
      field,
    )
  const violation =
    (allowedFields.has('tools') ? null : tool) ?? part ?? values.find(({ param }) => !allowedFields.has(param)) ?? null
  return violation === null ? null : invalidRequest(violation.detail, violation.param)
}

export function findFieldViolations(chat: Pick<ChatRequest, 'body'>): FieldViolations {
  const { body } = chat
  const fields: string[] = []
  for (const [field, value] of Object.entries(body)) if (isForbiddenField(field, value, body['model'])) fields.push(field)
  const values = [
    findOutsideReference(body) ?? findOutsideReference({ tools: findNativeExtra(chat) }),
    findTemplateSetting(body),
  ].filter((each) => each !== null)
  return { fields, tool: findForbiddenTool(body['tools']), part: findForbiddenPart(body['messages']), values }
}

function isForbiddenField(field: string, value: unknown, model: unknown): boolean {
  if (requestsNothing(value)) return false
  // Clients fill these with empty defaults; for the others an empty object requests the extra.
  if (isRecord(value) && Object.keys(value).length === 0 && emptyObjectFields.has(field)) return false
  if (field === 'models') return !(Array.isArray(value) && value.every((id) => id === model))
  if (field === 'modalities') return !(Array.isArray(value) && value.every((kind) => kind === 'text'))
  if (field === 'best_of') return value !== 1
  return forbiddenFields.has(field)
}

/** An empty value, or one that switches the field off. An empty object is none: `web_search_options: {}` requests a search. */
function requestsNothing(value: unknown): boolean {
  if (value === null || value === false || (Array.isArray(value) && value.length === 0)) return true
  if (typeof value === 'string') return offWords.has(value.toLowerCase())
  if (!isRecord(value)) return false
  const { enabled, mode, type } = value
  return enabled === false || [mode, type].some((word) => typeof word === 'string' && offWords.has(word.toLowerCase()))
}

const offWords: ReadonlySet<string> = new Set(['', 'off', 'none', 'false', 'disabled'])

/** Tools that the upstream runs are billed to the operator, and have the access of the operator's account. */
function findForbiddenTool(tools: unknown): FieldViolation | null {
  if (!Array.isArray(tools)) return null
  for (const [i, tool] of (tools as unknown[]).entries()) {
    const param = `tools[${i}]`
    if (!isRecord(tool)) return { detail: { en: `'${param}' must be an object.`, zh: `'${param}' 必须是对象。` }, param }
    const { type } = tool
    if ((type === 'function' || type === undefined) && isRecord(tool['function'])) continue
    if (type === 'custom' && isRecord(tool['custom'])) continue
    return {
      detail: {
        en: `'${param}.type' must be 'function' or 'custom'; tools run by the model service are not supported here.`,
        zh: `'${param}.type' 必须是 'function' 或 'custom'；此处不提供由模型服务运行的工具。`,
      },
      param: `${param}.type`,
    }
  }
  return null
}

/** Uploaded files belong to the operator's account, which all members share. */
function findForbiddenPart(messages: unknown): FieldViolation | null {
  if (!Array.isArray(messages)) return null
  for (const [i, message] of (messages as unknown[]).entries()) {
    const content = isRecord(message) ? message['content'] : undefined
    if (!Array.isArray(content)) continue
    for (const [j, part] of (content as unknown[]).entries()) {
      if (!isRecord(part)) continue
      const file = isRecord(part['file']) ? part['file'] : part
      if (file['file_id'] === undefined || file['file_id'] === null) continue
      const param = `messages[${i}].content[${j}]`
      return {
        detail: {
          en: `'${param}' names an uploaded file; send its contents instead.`,
          zh: `'${param}' 引用了已上传的文件，请直接发送内容。`,
        },
        param,
      }
    }
  }
  return null
}

/** The fields of the body to forward to this upstream, and the names of those that are dropped. */
export function splitFields(
  chat: Pick<ChatRequest, 'body'>,
  { kind, responses, passRequestFields, passCostFields }: FieldPolicy,
): { readonly fields: Record<string, unknown>; readonly dropped: readonly string[] } {
  const fields: Record<string, unknown> = {}
  const droppedFields: string[] = []
  const knownNames = knownFields[responses ? 'responses' : kind]
  for (const [field, value] of Object.entries(getFields(chat))) {
    const isPassed = knownNames.has(field) || passRequestFields.includes(field) || (passCostFields && costFields.has(field))
    if (isPassed) fields[field] = value
    else if (!silentFields.has(field)) droppedFields.push(field)
  }
  return { fields, dropped: droppedFields }
}

/** The fields of an image request to forward. */
export function pickImageFields(chat: Pick<ChatRequest, 'body'>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(getFields(chat)).filter(([field]) => imageFields.has(field)))
}

/** Whether any upstream may receive the field, for any product; `passRequestFields` are those that the operator allows. */
export function isPassable(field: string, passRequestFields: ReadonlySet<string>): boolean {
  const isKnown = Object.values(knownFields).some((fields) => fields.has(field))
  return isKnown || imageFields.has(field) || costFields.has(field) || passRequestFields.has(field)
}

/** Whether the field is dropped without a header. */
export function isDroppedSilently(field: string): boolean {
  return silentFields.has(field)
}

/** The client's `stream_options`, with the usage chunk requested. In options of a large request that are serialized it is set already. */
export function withUsageReport(streamOptions: unknown): object {
  if (streamOptions instanceof RawJson) return streamOptions
  return { ...(isRecord(streamOptions) ? streamOptions : {}), include_usage: true }
}

/** Field names are the client's own text: only valid header characters pass, up to a maximum number. */
export function droppedFieldsHeader(names: readonly string[]): string {
  return names.filter(fitsInHeader).slice(0, maxNamesInHeader).join(', ')
}

export function fitsInHeader(name: string): boolean {
  return /^[\w.-]{1,64}$/.test(name)
}

export const maxNamesInHeader = 20

function splitWords(text: string): string[] {
  return text.trim().split(/\s+/)
}
