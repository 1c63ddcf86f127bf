/** The faults of a request that the Responses API rejects, each with its sentence. */
import type { Item, ReceivedRequest } from './responses-server.ts'

const fields = new Set(
  `model input instructions max_output_tokens temperature top_p tools tool_choice parallel_tool_calls text reasoning include store stream
  top_logprobs user safety_identifier prompt_cache_key service_tier metadata truncation stream_options client_metadata`.split(
    /\s+/,
  ),
)

const itemFields: Readonly<Record<string, readonly string[]>> = {
  message: ['type', 'role', 'content'],
  reasoning: ['type', 'summary', 'encrypted_content'],
  function_call: ['type', 'call_id', 'name', 'arguments'],
  function_call_output: ['type', 'call_id', 'output'],
  custom_tool_call: ['type', 'call_id', 'name', 'input'],
  custom_tool_call_output: ['type', 'call_id', 'output'],
  tool_search_call: ['type', 'call_id', 'execution', 'arguments'],
  tool_search_output: ['type', 'call_id', 'execution', 'tools'],
  additional_tools: ['type', 'role', 'tools'],
}

const partFields: Readonly<Record<string, readonly string[]>> = {
  input_text: ['type', 'text'],
  output_text: ['type', 'text', 'annotations'],
  refusal: ['type', 'refusal'],
  input_image: ['type', 'image_url', 'detail'],
  input_file: ['type', 'filename', 'file_data'],
}

/** Fields that an item, a part or a message may leave out. */
const optionalFields = new Set('id status namespace phase content annotations logprobs detail'.split(' '))
const toolTypes = new Set(['function', 'custom', 'namespace', 'tool_search'])

/** The API's sentence about the first fault; null for a valid request. */
export function findRequestFault(body: ReceivedRequest): string | null {
  const unknown = Object.keys(body).find((field) => !fields.has(field))
  if (unknown !== undefined) return `Unknown parameter: '${unknown}'.`
  const { max_output_tokens: cap, store, input } = body
  if (typeof cap === 'number' && cap < 16)
    return `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${cap} instead.`
  if (store !== false) return 'This test stores nothing.'
  if (input.length === 0) return "Missing required parameter: 'input'."
  return findToolFault(body.tools ?? []) ?? (typeof input === 'string' ? null : findInputFault(input))
}

function findToolFault(tools: readonly Item[]): string | null {
  for (const [i, { type, name, parameters, format }] of tools.entries()) {
    if (!toolTypes.has(String(type))) return `Invalid value: '${String(type)}'.`
    if (type === 'tool_search') continue
    if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name)) return `Invalid 'tools[${i}].name'.`
    if (type === 'function' && typeof parameters !== 'object') return `Missing required parameter: 'tools[${i}].parameters'.`
    const { type: kind, definition, syntax } = (format ?? { type: 'text' }) as Item
    if (type === 'custom' && kind !== 'text' && (typeof definition !== 'string' || typeof syntax !== 'string'))
      return `Missing required parameter: 'tools[${i}].format.definition'.`
  }
  return null
}

function findInputFault(input: readonly Item[]): string | null {
  const open = new Set<unknown>()
  for (const [i, item] of input.entries()) {
    const { type = 'message', call_id: callId, role, content, output, encrypted_content: encrypted } = item
    const known = itemFields[String(type)]
    if (known === undefined) return `Invalid value: '${String(type)}'.`
    const extra = Object.keys(item).find((field) => !known.includes(field) && !optionalFields.has(field))
    if (extra !== undefined) return `Unknown parameter: 'input[${i}].${extra}'.`
    const missing = known.find((field) => field !== 'type' && item[field] === undefined)
    if (missing !== undefined) return `Missing required parameter: 'input[${i}].${missing}'.`
    if (callId !== undefined && (typeof callId !== 'string' || callId.length > 64)) return `Invalid 'input[${i}].call_id'.`
    if (type === 'reasoning' && typeof encrypted === 'string' && !encrypted.startsWith('gAAAA'))
      return 'The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.'
    if (type === 'message') {
      const fault = findPartsFault(content, `input[${i}].content`, role === 'assistant' ? 'output_text' : 'input_text')
      if (fault !== null) return fault
    } else if (String(type).endsWith('_call')) open.add(`${String(type)} ${String(callId)}`)
    else if (String(type).endsWith('_output')) {
      const called = type === 'tool_search_output' ? 'tool_search_call' : String(type).replace('_output', '')
      if (!open.delete(`${called} ${String(callId)}`))
        return `No tool call found for function call output with call_id ${String(callId)}.`
      const fault = findPartsFault(output ?? '', `input[${i}].output`, 'input_text')
      if (fault !== null) return fault
    }
  }
  const [first] = open
  return first === undefined ? null : `No tool output found for ${String(first)}.`
}

function findPartsFault(content: unknown, path: string, textType: string): string | null {
  if (typeof content === 'string') return null
  for (const [i, part] of (content as readonly Item[]).entries()) {
    const { type } = part
    const known = partFields[String(type)]
    const isText = type === 'input_text' || type === 'output_text'
    if (known === undefined || (isText && type !== textType)) return `Invalid value: '${String(type)}'. ${path}[${i}]`
    if (known.some((field) => part[field] === undefined && !optionalFields.has(field)))
      return `Missing required parameter in '${path}[${i}]'.`
    const extra = Object.keys(part).find((field) => !known.includes(field) && !optionalFields.has(field))
    if (extra !== undefined) return `Unknown parameter: '${path}[${i}].${extra}'.`
  }
  return null
}
