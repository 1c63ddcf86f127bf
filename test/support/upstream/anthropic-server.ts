/**
 * A model server with the Messages API as it is published: it checks each request as strictly, and answers with the events, usage and
 * errors that a test scripts.
 */
import type { TestScope } from '../test-scope.ts'
import type { ScriptedServer, StreamFaults } from './scripted-server.ts'
import { sendEvents, sendJson, startScriptedServer } from './scripted-server.ts'

export type Block = Readonly<Record<string, unknown>>

export interface AnthropicAnswer extends StreamFaults {
  /** Blocks of the answer: `text`, `thinking`, `redacted_thinking`, `tool_use`. */
  readonly content?: readonly Block[]
  readonly stopReason?: string
  readonly stopSequence?: string
  /** Usage at the end; the prompt's counts are in both events. */
  readonly usage?: Readonly<Record<string, unknown>>
  /** Answers with this status and error instead. */
  readonly failure?: { readonly status: number; readonly type: string; readonly message: string }
  readonly headers?: Readonly<Record<string, string>>
  /** Sends `event: error` after this many events. */
  readonly errorAfter?: number
}

export interface ReceivedMessage {
  readonly role: string
  readonly content: string | readonly Block[]
}

export interface ReceivedRequest {
  readonly model: string
  readonly max_tokens: number
  readonly messages: readonly ReceivedMessage[]
  readonly system?: readonly Block[]
  readonly tools?: readonly Block[]
  readonly stream?: boolean
  readonly [field: string]: unknown
}

export const anthropicKey = 'sk-ant-test-key'
export const anthropicModels = [
  {
    type: 'model',
    id: 'claude-one',
    display_name: 'One',
    created_at: '2026-01-01T00:00:00Z',
    max_input_tokens: 200_000,
    max_tokens: 64_000,
  },
  { type: 'model', id: 'claude-two', display_name: 'Two', created_at: '2026-01-01T00:00:00Z' },
]

export async function startAnthropicServer(
  t: TestScope,
  answer: (request: ReceivedRequest, before: number) => AnthropicAnswer,
): Promise<ScriptedServer<ReceivedRequest>> {
  return startScriptedServer<ReceivedRequest>(t, async (request, response, text, { requests, rejected }) => {
    const requestId = { 'request-id': 'req_1' }
    const fail = (status: number, type: string, message: string, headers = {}): void =>
      sendJson(response, status, { type: 'error', error: { type, message }, request_id: 'req_1' }, { ...requestId, ...headers })
    if (request.headers['x-api-key'] !== anthropicKey) return fail(401, 'authentication_error', 'invalid x-api-key')
    if (request.headers['anthropic-version'] === undefined)
      return fail(400, 'invalid_request_error', 'anthropic-version: header is required')
    const path = (request.url ?? '').split('?')[0]
    if (request.method === 'GET' && path === '/v1/models')
      return sendJson(response, 200, { data: anthropicModels, has_more: false, first_id: 'claude-one', last_id: 'claude-two' })
    if (path !== '/v1/messages') return fail(404, 'not_found_error', 'Not found')
    const body = JSON.parse(text) as ReceivedRequest
    const fault = findFault(body, new Set(String(request.headers['anthropic-beta'] ?? '').split(',')))
    if (fault !== null) {
      rejected.push(fault)
      return fail(400, 'invalid_request_error', fault)
    }
    const scripted = answer(body, requests.length)
    requests.push(body)
    const { failure, content = hello, errorAfter = Infinity } = scripted
    if (failure !== undefined) return fail(failure.status, failure.type, failure.message, scripted.headers)
    if (body.stream !== true)
      return sendJson(response, 200, { ...toMessage(body), content, ...toStop(scripted), usage: toUsage(scripted) }, requestId)
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', ...requestId })
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    await sendEvents(response, toEvents(body, scripted), scripted, (i) => (i >= errorAfter ? error : undefined))
  })
}

const hello: readonly Block[] = [{ type: 'text', text: 'Hello from the Messages API.' }]

function toMessage({ model }: ReceivedRequest): object {
  return { id: 'msg_01', type: 'message', role: 'assistant', model, content: [], stop_reason: null, stop_sequence: null }
}

function toStop({ content = hello, stopReason, stopSequence = null as never }: AnthropicAnswer): object {
  const hasCall = content.some(({ type }) => type === 'tool_use')
  return { stop_reason: stopReason ?? (hasCall ? 'tool_use' : 'end_turn'), stop_sequence: stopSequence }
}

function toUsage({ usage }: AnthropicAnswer): Readonly<Record<string, unknown>> {
  return { input_tokens: 20, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 8, ...usage }
}

/** The events of an answer, as the API sends them. */
export function toEvents(body: ReceivedRequest, scripted: AnthropicAnswer): object[] {
  const { content = hello } = scripted
  const usage = toUsage(scripted)
  return [
    { type: 'message_start', message: { ...toMessage(body), usage: { ...usage, output_tokens: 1 } } },
    { type: 'ping' },
    ...content.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: toStart(block) },
      ...toDeltas(block).map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: toStop(scripted), usage },
    { type: 'message_stop' },
  ]
}

function toStart(block: Block): Block {
  switch (block['type']) {
    case 'text':
      return { type: 'text', text: '' }
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' }
    case 'tool_use':
      return { ...block, input: {} }
    default:
      return block
  }
}

function toDeltas({ type, text, thinking, signature, input }: Block): object[] {
  const pieces = (value: unknown): string[] => String(value).match(/[^]{1,9}/gu) ?? []
  switch (type) {
    case 'text':
      return pieces(text).map((piece) => ({ type: 'text_delta', text: piece }))
    case 'thinking':
      return [
        ...pieces(thinking).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
        { type: 'signature_delta', signature },
      ]
    case 'tool_use':
      return ['', ...pieces(JSON.stringify(input))].map((piece) => ({ type: 'input_json_delta', partial_json: piece }))
    default:
      return []
  }
}

const fields = new Set(
  `model max_tokens messages system tools tool_choice temperature top_p top_k stop_sequences stream thinking output_config metadata
  service_tier cache_control`.split(/\s+/),
)

const blockFields: Readonly<Record<string, readonly string[]>> = {
  text: ['type', 'text', 'cache_control', 'citations'],
  image: ['type', 'source', 'cache_control'],
  document: ['type', 'source', 'title', 'context', 'cache_control', 'citations'],
  thinking: ['type', 'thinking', 'signature'],
  redacted_thinking: ['type', 'data'],
  tool_reference: ['type', 'tool_name'],
  tool_use: ['type', 'id', 'name', 'input', 'cache_control', 'caller'],
  tool_result: ['type', 'tool_use_id', 'content', 'is_error', 'cache_control'],
}

/** Fields that a request may have with these names in its header. */
const betaFields: Readonly<Record<string, string>> = { context_management: 'context-management-2025-06-27' }
const deferredTools = 'advanced-tool-use-2025-11-20'
const systemMessages = 'mid-conversation-tool-changes-2026-07-01'

/** The API's sentence about the first fault of a request; null for a valid one. */
function findFault(body: ReceivedRequest, betas: ReadonlySet<string>): string | null {
  const unknown = Object.keys(body).find((field) => !fields.has(field) && !betas.has(betaFields[field] ?? ''))
  const deferred = betas.has(deferredTools) ? -1 : (body.tools ?? []).findIndex((tool) => tool['defer_loading'] !== undefined)
  if (deferred !== -1) return `tools.${deferred}.custom.defer_loading: Extra inputs are not permitted`
  if (unknown !== undefined) return `${unknown}: Extra inputs are not permitted`
  if (!(Number.isInteger(body.max_tokens) && body.max_tokens > 0)) return 'max_tokens: Field required'
  const marks = JSON.stringify([body.system, body.messages, body.tools]).split('"cache_control"').length - 1
  if (marks > 4) return `A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`
  if (typeof body['temperature'] === 'number' && !(body['temperature'] >= 0 && body['temperature'] <= 1))
    return 'temperature: range: 0..1'
  return findThinkingFault(body) ?? findBlocksFault(body.system ?? [], 'system') ?? findConversationFault(body.messages, betas)
}

function findThinkingFault({ thinking, tool_choice: choice, temperature, max_tokens: cap }: ReceivedRequest): string | null {
  const { type, budget_tokens: budget } = (thinking ?? {}) as { type?: string; budget_tokens?: number }
  if (type === undefined || type === 'disabled') return null
  if (['any', 'tool'].includes((choice as { type?: string } | undefined)?.type ?? ''))
    return 'Thinking may not be enabled when tool_choice forces tool use.'
  if (temperature !== undefined && temperature !== 1) return '`temperature` may only be set to 1 when thinking is enabled.'
  if (type !== 'enabled') return null
  if (budget === undefined || budget < 1024)
    return 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024'
  return budget >= cap ? '`max_tokens` must be greater than `thinking.budget_tokens`.' : null
}

function findBlocksFault(content: string | readonly Block[], path: string): string | null {
  if (typeof content === 'string') return content.trim() === '' ? `${path}: text content blocks must be non-empty` : null
  for (const [i, block] of content.entries()) {
    const at = `${path}.${i}`
    const { type, text, id, tool_use_id: result, content: inner } = block
    const known = blockFields[String(type)]
    if (known === undefined)
      return `${at}: Input tag '${String(type)}' found using 'type' does not match any of the expected tags`
    const extra = Object.keys(block).find((field) => !known.includes(field))
    if (extra !== undefined) return `${at}.${extra}: Extra inputs are not permitted`
    if (type === 'text' && String(text).trim() === '') return `${at}: text content blocks must contain non-whitespace text`
    if (type === 'tool_result' && inner === undefined) continue
    for (const each of [id, result])
      if (each !== undefined && !/^[\w-]+$/.test(String(each))) return `${at}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`
    if (type === 'tool_result') {
      const fault = findBlocksFault(inner as string | readonly Block[], `${at}.content`)
      if (fault !== null) return fault
    }
  }
  return null
}

function findConversationFault(messages: readonly ReceivedMessage[], betas: ReadonlySet<string>): string | null {
  if (messages.length === 0) return 'messages: at least one message is required'
  if (messages[0]?.role !== 'user') return 'messages: first message must use the "user" role'
  let open: readonly unknown[] = []
  for (const [i, { role, content }] of messages.entries()) {
    if (role !== 'user' && role !== 'assistant' && !(role === 'system' && betas.has(systemMessages)))
      return `messages.${i}.role: Input should be 'user' or 'assistant'`
    if (content.length === 0) return `messages.${i}: all messages must have non-empty content`
    const fault = findBlocksFault(content, `messages.${i}.content`)
    if (fault !== null) return fault
    const blocks = typeof content === 'string' ? [] : content
    const firstOther = blocks.findIndex(({ type }) => type !== 'tool_result')
    const results = (firstOther === -1 ? blocks : blocks.slice(0, firstOther)).map((block) => block['tool_use_id'])
    const all = blocks.filter(({ type }) => type === 'tool_result')
    if (all.some((block) => !open.includes(block['tool_use_id'])) || all.length > results.length)
      return `messages.${i}.content: unexpected \`tool_use_id\` found in \`tool_result\` blocks`
    if (open.some((id) => !results.includes(id)))
      return `messages.${i - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after`
    open = blocks.filter(({ type }) => type === 'tool_use').map((block) => block['id'])
  }
  const last = messages.at(-1)
  const end = last?.role === 'assistant' && typeof last.content !== 'string' ? last.content.at(-1)?.['text'] : undefined
  return typeof end === 'string' && end !== end.trimEnd()
    ? 'messages: final assistant content cannot end with trailing whitespace'
    : null
}
