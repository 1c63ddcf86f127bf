/**
 * A model server with the Responses API as it is published: it checks each request as strictly, and answers with the events, usage and errors
 * that a test scripts.
 */
import type { TestScope } from '../test-scope.ts'
import { findRequestFault } from './responses-faults.ts'
import type { ScriptedServer, StreamFaults } from './scripted-server.ts'
import { sendEvents, sendJson, startScriptedServer } from './scripted-server.ts'

export type Item = Readonly<Record<string, unknown>>

export interface ResponsesAnswer extends StreamFaults {
  /** Items of the answer: `reasoning`, `message` (`text` or `refusal`), `function_call`, `custom_tool_call`. */
  readonly output?: readonly Item[]
  /** The answer ends early for this reason. */
  readonly incomplete?: 'max_output_tokens' | 'content_filter'
  readonly usage?: Readonly<Record<string, unknown>> | null
  /** Answers with this status and error instead. */
  readonly failure?: { readonly status: number; readonly code?: string | null; readonly message: string; readonly param?: string }
  readonly headers?: Readonly<Record<string, string>>
  /** Sends `response.failed`, or `error`, after this many events. */
  readonly failAfter?: number
  readonly errorAfter?: number
  readonly error?: { readonly code: string; readonly message: string }
}

export interface ReceivedRequest {
  readonly model: string
  readonly input: string | readonly Item[]
  readonly instructions?: string
  readonly tools?: readonly Item[]
  readonly stream?: boolean
  readonly [field: string]: unknown
}

export const responsesKey = 'sk-test-key'

export async function startResponsesServer(
  t: TestScope,
  answer: (request: ReceivedRequest, before: number) => ResponsesAnswer,
): Promise<ScriptedServer<ReceivedRequest>> {
  return startScriptedServer<ReceivedRequest>(t, async (request, response, text, { requests, rejected }) => {
    const fail = (
      { status, code = null, message, param = null as never }: NonNullable<ResponsesAnswer['failure']>,
      headers = {},
    ): void => {
      const type = status === 429 ? 'rate_limit_error' : status >= 500 ? 'server_error' : 'invalid_request_error'
      sendJson(response, status, { error: { message, type, param, code } }, { 'x-request-id': 'req_1', ...headers })
    }
    if (request.headers.authorization !== `Bearer ${responsesKey}`)
      return fail({ status: 401, code: 'invalid_api_key', message: 'Incorrect API key provided.' })
    if (request.method === 'GET' && request.url === '/v1/models')
      return sendJson(response, 200, { object: 'list', data: ['gpt-one', 'gpt-two'].map((id) => ({ id, object: 'model' })) })
    if (request.method !== 'POST' || request.url !== '/v1/responses') return fail({ status: 404, message: 'Not found' })
    const body = JSON.parse(text) as ReceivedRequest
    const fault = findRequestFault(body)
    if (fault !== null) {
      rejected.push(fault)
      return fail({ status: 400, message: fault })
    }
    const scripted = answer(body, requests.length)
    requests.push(body)
    if (scripted.failure !== undefined) return fail(scripted.failure, scripted.headers)
    if (body.stream !== true) return sendJson(response, 200, toResponse(body, { ...toEnd(scripted), output: toItems(scripted) }))
    const {
      failAfter = Infinity,
      errorAfter = Infinity,
      error = { code: 'server_error', message: 'The model broke.' },
    } = scripted
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    await sendEvents(response, toEvents(body, scripted), scripted, (i) => {
      if (i >= failAfter)
        return { type: 'response.failed', response: toResponse(body, { status: 'failed', error }), sequence_number: i }
      return i >= errorAfter ? { type: 'error', ...error, param: null, sequence_number: i } : undefined
    })
  })
}

const hello: readonly Item[] = [{ type: 'message', text: 'Hello from the Responses API.' }]

function toResponse({ model, instructions = null as never }: ReceivedRequest, progress: object): object {
  return {
    id: 'resp_01',
    object: 'response',
    created_at: 1_790_000_000,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    instructions,
    model: `${model}-2026-01-01`,
    output: [],
    parallel_tool_calls: true,
    store: false,
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    usage: null,
    ...progress,
  }
}

function toEnd({ incomplete, usage = {} }: ResponsesAnswer): object {
  return {
    status: incomplete === undefined ? 'completed' : 'incomplete',
    incomplete_details: incomplete === undefined ? null : { reason: incomplete },
    usage: usage === null ? null : toUsage(usage),
  }
}

function toUsage(usage: Readonly<Record<string, unknown>>): object {
  return {
    input_tokens: 20,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 8,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 28,
    ...usage,
  }
}

/** The items as they are when they are complete. */
function toItems({ output = hello, incomplete }: ResponsesAnswer): Item[] {
  return output.map(({ text, refusal, ...item }, i) => {
    const id = `${String(item['type'])}_${i}`
    const status = incomplete !== undefined && i === output.length - 1 ? 'incomplete' : 'completed'
    if (item['type'] !== 'message') return { id, ...item, ...(item['type'] === 'reasoning' ? {} : { status }) }
    const part =
      refusal === undefined ? { type: 'output_text', text, annotations: [], logprobs: [] } : { type: 'refusal', refusal }
    return { id, ...item, role: 'assistant', status, content: [part] }
  })
}

/** The events of an answer, as the API sends them. */
export function toEvents(body: ReceivedRequest, scripted: ResponsesAnswer): object[] {
  const items = toItems(scripted)
  const response = toResponse(body, {})
  const events = [
    { type: 'response.created', response },
    { type: 'response.in_progress', response },
    ...items.flatMap((item, output_index) => toItemEvents(item, output_index)),
    {
      type: scripted.incomplete === undefined ? 'response.completed' : 'response.incomplete',
      response: toResponse(body, { ...toEnd(scripted), output: items }),
    },
  ]
  return events.map((event, sequence_number) => ({ ...event, sequence_number }))
}

function toItemEvents(item: Item, output_index: number): (Item & { readonly type: string })[] {
  const at = { item_id: item['id'], output_index }
  const done = { type: 'response.output_item.done', output_index, item }
  const added = (empty: object) => ({ type: 'response.output_item.added', output_index, item: { ...item, ...empty } })
  switch (item['type']) {
    case 'reasoning':
      return [
        added({ summary: [], encrypted_content: '' }),
        ...(item['summary'] as readonly { readonly text: string }[]).flatMap(({ text }, summary_index) => [
          { type: 'response.reasoning_summary_part.added', ...at, summary_index, part: { type: 'summary_text', text: '' } },
          ...split(text).map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...at, summary_index, delta })),
          { type: 'response.reasoning_summary_text.done', ...at, summary_index, text },
          { type: 'response.reasoning_summary_part.done', ...at, summary_index, part: { type: 'summary_text', text } },
        ]),
        done,
      ]
    case 'message': {
      const [part = {}] = item['content'] as readonly Item[]
      const kind = part['type'] === 'refusal' ? 'refusal' : 'output_text'
      const field = kind === 'refusal' ? 'refusal' : 'text'
      const text = String(part[field])
      return [
        added({ content: [], status: 'in_progress' }),
        { type: 'response.content_part.added', ...at, content_index: 0, part: { ...part, [field]: '' } },
        ...split(text).map((delta) => ({ type: `response.${kind}.delta`, ...at, content_index: 0, delta, logprobs: [] })),
        { type: `response.${kind}.done`, ...at, content_index: 0, [field]: text },
        { type: 'response.content_part.done', ...at, content_index: 0, part },
        done,
      ]
    }
    case 'function_call':
    case 'custom_tool_call': {
      const [field, kind] =
        item['type'] === 'function_call' ? ['arguments', 'function_call_arguments'] : ['input', 'custom_tool_call_input']
      const text = String(item[field])
      return [
        added({ [field]: '', status: 'in_progress' }),
        ...split(text).map((delta) => ({ type: `response.${kind}.delta`, ...at, delta })),
        { type: `response.${kind}.done`, ...at, [field]: text },
        done,
      ]
    }
    default:
      return [added({}), done]
  }
}

function split(text: string): readonly string[] {
  return text.match(/[^]{1,9}/gu) ?? []
}
