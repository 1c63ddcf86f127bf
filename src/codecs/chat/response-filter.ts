/**
 * Filters an upstream's response to the fields that members may see. Whole responses and stream chunks use the same rules.
 *
 * Outside `delta` and `message` only the fields listed here and those that the operator allows pass; a vendor's or router's additions
 * (cost, its own model ids, the provider it called) are removed. Inside `delta` and `message` everything passes except routers' own fields.
 * Every `model`, at any depth, becomes the product id.
 */
import { isRecord } from '../../exchange/request/chat-request.ts'

export interface FieldAllowlist {
  readonly productId: string
  /** More fields that members may see of this upstream (`passResponseFields`). */
  readonly extraFields: readonly string[]
}

/** Fields that justify an event without a choice: a filter's verdict on the prompt, sources. */
const contentFields = splitWords(`prompt_filter_results prompt_annotations prompt_logprobs moderation
  citations search_results related_questions images videos web_search`)
/** Fields of OpenAI, Azure, vLLM, Perplexity and compatible servers. `usage` is rewritten separately. */
const responseFields = splitWords('id object created model choices system_fingerprint service_tier obfuscation metadata')
const choiceFields = splitWords(`index delta message finish_reason logprobs stop_reason matched_stop token_ids
  content_filter_results content_filter_result content_filter_offsets`)
const routerFields = splitWords('provider_specific_fields provider usage')

/** Whether nothing but the top-level `model` must change. */
export function needsNoFilter(response: Record<string, unknown>, { extraFields }: FieldAllowlist): boolean {
  for (const name in response) {
    if (!isAllowedField(name, extraFields) && !(name === 'usage' && response[name] === null)) return false
    if (name !== 'choices' && name !== 'model' && containsModel(response[name])) return false
  }
  const { choices } = response
  if (Array.isArray(choices))
    for (const choice of choices as unknown[]) if (!isRecord(choice) || !needsNoChoiceFilter(choice)) return false
  return true
}

function isAllowedField(name: string, extraFields: readonly string[]): boolean {
  return responseFields.has(name) || contentFields.has(name) || extraFields.includes(name)
}

function needsNoChoiceFilter(choice: Record<string, unknown>): boolean {
  for (const name in choice) {
    if (!choiceFields.has(name)) return false
    const value = choice[name]
    if (typeof value === 'string' ? name === 'finish_reason' && value === '' : containsModel(value)) return false
  }
  return hasNoRouterFields(choice['delta']) && hasNoRouterFields(choice['message'])
}

function hasNoRouterFields(message: unknown): boolean {
  if (!isRecord(message)) return message === null || message === undefined
  for (const name in message) if (routerFields.has(name)) return false
  return true
}

/** Whether a chunk without a choice still has content. */
export function hasContentFields(chunk: Record<string, unknown>): boolean {
  for (const name in chunk) if (contentFields.has(name) && chunk[name] !== null) return true
  return false
}

/** A filtered copy of the response. */
export function filterResponse(response: Record<string, unknown>, allowlist: FieldAllowlist): Record<string, unknown> {
  const { productId, extraFields } = allowlist
  const filteredResponse: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(response)) {
    if (!isAllowedField(name, extraFields)) continue
    if (name === 'model') filteredResponse[name] = productId
    else if (name === 'choices')
      filteredResponse[name] = Array.isArray(value)
        ? value.filter(isRecord).map((choice) => filterChoice(choice, productId))
        : value
    else filteredResponse[name] = replaceModel(value, productId)
  }
  return filteredResponse
}

function filterChoice(choice: Record<string, unknown>, productId: string): unknown {
  const filteredChoice: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(choice)) {
    if (!choiceFields.has(name)) continue
    // Some upstreams send an empty string instead of null.
    if (name === 'finish_reason') filteredChoice[name] = value === '' ? null : value
    else filteredChoice[name] = replaceModel(name === 'delta' || name === 'message' ? stripRouterFields(value) : value, productId)
  }
  return filteredChoice
}

function stripRouterFields(message: unknown): unknown {
  if (hasNoRouterFields(message)) return message
  // A list or a text in place of a message would pass whatever it holds.
  if (!isRecord(message)) return {}
  return Object.fromEntries(Object.entries(message).filter(([name]) => !routerFields.has(name)))
}

/** Whether the value contains a key `model`. Arguments of tool calls are strings and are not examined. `parseJson` bounds the depth. */
function containsModel(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some((item) => containsModel(item))
  for (const name in value) {
    const part = (value as Record<string, unknown>)[name]
    if (isModel(name, part) || containsModel(part)) return true
  }
  return false
}

function isModel(name: string, value: unknown): boolean {
  return name === 'model' && value !== null && (typeof value === 'string' || typeof value === 'object')
}

/** Replaces every `model`. A second examination of each part would take the square of the depth, so all of it is copied. */
function replaceModel(value: unknown, productId: string): unknown {
  return containsModel(value) ? copyWithModel(value, productId) : value
}

function copyWithModel(value: unknown, productId: string): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => copyWithModel(item, productId))
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, isModel(name, part) ? productId : copyWithModel(part, productId)]),
  )
}

function splitWords(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/))
}
