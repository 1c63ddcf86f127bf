/**
 * Which fields of a request go upstream. A body that passed as it came would let a member name other models, providers, prices, addresses
 * and keys to upstreams that read such fields (OpenRouter, LiteLLM), or buy extras that nobody has priced.
 *
 * What is known passes. What is known to choose or to buy is refused, because the member would get something else than was asked for.
 * Everything else is left out and named in a header: clients send much that no upstream needs, and must not fail for it.
 */
import { invalidRequest } from '../errors.ts'
import type { GatewayError } from '../errors.ts'
import { fieldsOf, isRecord } from './chat-request.ts'
import type { ChatRequest } from './chat-request.ts'
import type { Fault, Faults } from './large/answers.ts'
import type { Printed } from './large/printed.ts'

/** OpenAI's own, but for what costs more, keeps more, or belongs to the operator's account. */
const openai = words(`
  model messages stream stream_options max_tokens max_completion_tokens n user safety_identifier
  temperature top_p frequency_penalty presence_penalty logit_bias logprobs top_logprobs seed stop
  tools tool_choice parallel_tool_calls functions function_call response_format verbosity
  reasoning_effort prompt_cache_key moderation`)

/** Sampling, thinking and output shape as vLLM, SGLang, llama.cpp, Ollama, TGI, DeepSeek, Mistral, Qwen and OpenRouter know them. */
const common = words(`
  top_k min_p top_a typical_p tfs_z top_n_sigma repetition_penalty repeat_penalty repeat_last_n no_repeat_ngram_size length_penalty
  mirostat mirostat_tau mirostat_eta dynatemp_range dynatemp_exponent xtc_probability xtc_threshold
  dry_multiplier dry_base dry_allowed_length dry_sequence_breakers random_seed
  stop_token_ids include_stop_str_in_output ignore_eos min_tokens bad_words skip_special_tokens spaces_between_special_tokens
  add_generation_prompt continue_final_message safe_prompt
  guided_json guided_regex guided_choice guided_grammar structured_outputs grammar json_schema regex ebnf
  reasoning include_reasoning reasoning_format separate_reasoning thinking enable_thinking thinking_budget chat_template_kwargs`)

const known = { openai: new Set(openai), compatible: new Set([...openai, ...common]) } as const

/** What a painter is told besides the prompt. */
const painting: ReadonlySet<string> = new Set(
  words(
    `size quality style background output_format output_compression aspect_ratio negative_prompt seed moderation temperature top_p`,
  ),
)

/** Those that choose models, providers, addresses, keys or prompts, and those that buy. */
const refused: ReadonlySet<string> = new Set(
  words(`
  models fallbacks fallback_models context_window_fallbacks content_policy_fallbacks model_list route provider providers preset plugins
  custom_llm_provider deployment_id engine lora_path lora_request adapter_id
  api_base base_url api_key api_version azure_ad_token organization extra_body extra_headers headers
  web_search_options web_search search_parameters enable_search search_options audio best_of use_beam_search
  mock_response mcp_servers container file_ids`),
)

/** Known by OpenAI, and dearer. */
const cost: ReadonlySet<string> = new Set(['service_tier', 'store'])

/** Left out without a word when they stand where an ordinary client puts them. */
const silent: ReadonlySet<string> = new Set(['service_tier', 'store', 'metadata', 'modalities'])

export interface FieldRules {
  readonly kind: keyof typeof known
  readonly passFields: readonly string[]
  readonly passCostFields: boolean
}

/** The first thing in it that chooses or buys; null where there is none. `allow` tells the fields an operator lets through. */
export function faultIn(chat: Pick<ChatRequest, 'body' | 'worked'>, allow: () => ReadonlySet<string>): GatewayError | null {
  const { fields, tool, part } = chat.worked?.faults ?? faultsOf(chat.body)
  if (fields.length === 0 && tool === null && part === null) return null
  const allowed = allow()
  const field = fields.find((name) => !allowed.has(name))
  if (field !== undefined)
    return invalidRequest(
      { en: `'${field}' is not offered here; leave it out.`, zh: `此处不提供 '${field}',请去掉该字段。` },
      field,
    )
  const fault = (allowed.has('tools') ? null : tool) ?? part
  return fault === null ? null : invalidRequest(fault.detail, fault.at)
}

export function faultsOf(body: Readonly<Record<string, unknown>>): Faults {
  const fields: string[] = []
  for (const [field, value] of Object.entries(body)) if (asksForMore(field, value)) fields.push(field)
  return { fields, tool: toolFault(body['tools']), part: partFault(body['messages']) }
}

function asksForMore(field: string, value: unknown): boolean {
  // What is empty or says what holds anyway asks for nothing.
  if (value === null || value === false || (Array.isArray(value) && value.length === 0)) return false
  if (field === 'modalities') return !(Array.isArray(value) && value.every((kind) => kind === 'text'))
  if (field === 'best_of') return value !== 1
  return refused.has(field)
}

/** Tools that the upstream runs itself are billed to the operator, and reach where the operator's account reaches. */
function toolFault(tools: unknown): Fault | null {
  if (!Array.isArray(tools)) return null
  for (const [i, tool] of (tools as unknown[]).entries()) {
    const at = `tools[${i}]`
    if (!isRecord(tool)) return { detail: { en: `'${at}' must be an object.`, zh: `'${at}' 必须是对象。` }, at }
    const { type } = tool
    if ((type === 'function' || type === undefined) && isRecord(tool['function'])) continue
    if (type === 'custom' && isRecord(tool['custom'])) continue
    return {
      detail: {
        en: `'${at}.type' must be 'function' or 'custom'; tools run by the model service are not offered here.`,
        zh: `'${at}.type' 必须是 'function' 或 'custom';此处不提供由模型服务运行的工具。`,
      },
      at: `${at}.type`,
    }
  }
  return null
}

/** Uploaded files belong to the operator's account, all members' alike. */
function partFault(messages: unknown): Fault | null {
  if (!Array.isArray(messages)) return null
  for (const [i, message] of (messages as unknown[]).entries()) {
    const content = isRecord(message) ? message['content'] : undefined
    if (!Array.isArray(content)) continue
    for (const [j, part] of (content as unknown[]).entries()) {
      if (!isRecord(part)) continue
      const file = isRecord(part['file']) ? part['file'] : part
      if (file['file_id'] === undefined || file['file_id'] === null) continue
      const at = `messages[${i}].content[${j}]`
      return {
        detail: {
          en: `'${at}' names an uploaded file; send its contents instead.`,
          zh: `'${at}' 引用了已上传的文件,请直接发送内容。`,
        },
        at,
      }
    }
  }
  return null
}

/** The fields of the body that this upstream may be sent, and the names of those it may not. */
export function passing(
  chat: Pick<ChatRequest, 'body' | 'worked'>,
  { kind, passFields, passCostFields }: FieldRules,
): { readonly fields: Record<string, unknown>; readonly dropped: readonly string[] } {
  const fields: Record<string, unknown> = {}
  const dropped: string[] = []
  for (const [field, value] of Object.entries(fieldsOf(chat))) {
    const passes = known[kind].has(field) || passFields.includes(field) || (passCostFields && cost.has(field))
    if (passes) fields[field] = value
    else if (!silent.has(field)) dropped.push(field)
  }
  return { fields, dropped }
}

/** Of a request for a picture, what the painter may be told. */
export function paintingFields(chat: Pick<ChatRequest, 'body' | 'worked'>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fieldsOf(chat)).filter(([field]) => painting.has(field)))
}

/** Whether anybody may be sent it, whichever the product; `passFields` are those that operators let through. */
export function mayPass(field: string, passFields: ReadonlySet<string>): boolean {
  return known.compatible.has(field) || painting.has(field) || cost.has(field) || passFields.has(field)
}

/** Whether nobody is told that it was left out. */
export function isSilent(field: string): boolean {
  return silent.has(field)
}

/** What marks a place for a paid cache: on messages, on their parts, and on tools. */
const extras = ['cache_control', 'prompt_cache_breakpoint', 'extra_body'] as const

/** The list without marks that buy something; the very same where there is none. */
export function withoutExtras(items: readonly unknown[]): readonly unknown[] {
  return items.some(hasExtras) ? items.map(plain) : items
}

function hasExtras(item: unknown): boolean {
  if (!isRecord(item)) return false
  for (const name of extras) if (item[name] !== undefined) return true
  const { content, function: inner } = item
  return (Array.isArray(content) && content.some(hasExtras)) || hasExtras(inner)
}

function plain(item: unknown): unknown {
  if (!isRecord(item) || !hasExtras(item)) return item
  const copy = { ...item }
  for (const name of extras) delete copy[name]
  if (Array.isArray(copy['content'])) copy['content'] = copy['content'].map(plain)
  if (isRecord(copy['function'])) copy['function'] = plain(copy['function'])
  return copy
}

/** The messages as an upstream is sent them that has this role for what the developer says. */
export function messagesFor(
  chat: Pick<ChatRequest, 'messages' | 'worked'>,
  developerRole: 'developer' | 'system',
): readonly unknown[] | Printed {
  return chat.worked?.messages[developerRole] ?? messagesAs(developerRole, chat.messages)
}

export function messagesAs(developerRole: 'developer' | 'system', messages: readonly unknown[]): readonly unknown[] {
  return withoutExtras(developerRole === 'developer' ? messages : messages.map((message) => withRole(message, developerRole)))
}

function withRole(message: unknown, role: string): unknown {
  return isRecord(message) && message['role'] === 'developer' ? { ...message, role } : message
}

/** Names of fields are the caller's own words: of those that fit into a header, as many as fit. */
export function droppedHeader(names: readonly string[]): string {
  return names.filter(fitsHeader).slice(0, namedInHeader).join(', ')
}

export function fitsHeader(name: string): boolean {
  return /^[\w.-]{1,64}$/.test(name)
}

export const namedInHeader = 20

function words(text: string): string[] {
  return text.trim().split(/\s+/)
}
