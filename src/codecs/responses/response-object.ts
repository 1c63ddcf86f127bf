/** The response object: every field that the schema requires, in whole answers and in the events of the answer's life. */
import type { JsonObject } from '../../exchange/api-format/api-format.ts'

/** The request's fields that a response repeats. */
export type EchoedFields = Readonly<Partial<Record<EchoedField, unknown>>>

type EchoedField =
  | 'instructions'
  | 'tools'
  | 'tool_choice'
  | 'parallel_tool_calls'
  | 'text'
  | 'reasoning'
  | 'temperature'
  | 'top_p'
  | 'max_output_tokens'
  | 'metadata'
  | 'user'
  | 'safety_identifier'
  | 'prompt_cache_key'

/** The fields that depend on how far the answer is. */
interface ResponseProgress {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed'
  readonly output: readonly JsonObject[]
  readonly usage: JsonObject | null
  /** Unix seconds. */
  readonly completed_at: number | null
  readonly incomplete_details: { readonly reason: 'max_output_tokens' | 'content_filter' } | null
  readonly error: { readonly code: string; readonly message: string } | null
}

/** The values of a request that has none of these fields. */
const echoDefaults = {
  instructions: null,
  tools: [],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  text: { format: { type: 'text' } },
  reasoning: null,
  temperature: 1,
  top_p: 1,
  max_output_tokens: null,
  metadata: {},
  safety_identifier: null,
  prompt_cache_key: null,
} as const satisfies EchoedFields

/**
 * The echoed fields as the text of an object's members. As objects they would pass between threads one by one, and be written again with
 * each event.
 * @param maxFieldLength longer values are left out
 */
export function serializeEcho(echoed: EchoedFields, maxFieldLength = Infinity): string {
  const fields = new Map<string, string>()
  for (const [name, value] of Object.entries({ ...echoDefaults, ...echoed })) {
    const json = JSON.stringify(value)
    if (json.length <= maxFieldLength) fields.set(name, json)
    else if (Object.hasOwn(echoDefaults, name)) fields.set(name, JSON.stringify(echoDefaults[name as keyof typeof echoDefaults]))
  }
  return [...fields].map(([name, json]) => `"${name}":${json}`).join(',')
}

/**
 * The object as JSON.
 * @param echoed of `serializeEcho`
 */
export function createResponse(
  head: { readonly id: string; readonly model: string; readonly startedAt: number },
  echoed: string,
  progress: Partial<ResponseProgress> & Pick<ResponseProgress, 'status'>,
): string {
  const ownJson = JSON.stringify({
    id: head.id,
    object: 'response',
    created_at: Math.floor(head.startedAt / 1000),
    completed_at: null,
    incomplete_details: null,
    model: head.model,
    output: [],
    error: null,
    usage: null,
    previous_response_id: null,
    top_logprobs: 0,
    presence_penalty: 0,
    frequency_penalty: 0,
    truncation: 'disabled',
    max_tool_calls: null,
    // Nothing is stored, whatever was requested.
    store: false,
    background: false,
    service_tier: 'default',
    ...progress,
  })
  return `${ownJson.slice(0, -1)},${echoed}}`
}
