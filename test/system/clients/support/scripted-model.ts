/** A model server whose answers the test writes: chat completions, streamed and whole, and the ways in which they fail. */
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'
import type { TestScope } from '../../../support/test-scope.ts'
import type { ScriptedServer } from '../../../support/upstream/scripted-server.ts'
import { sendJson, startScriptedServer } from '../../../support/upstream/scripted-server.ts'

export interface ScriptedCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

export interface ScriptedAnswer {
  readonly reasoning?: string
  readonly text?: string
  readonly calls?: readonly ScriptedCall[]
  readonly finish?: string
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number }
  /** Milliseconds of silence after the first event. */
  readonly silenceMs?: number
  /** Destroys the connection after this many events. */
  readonly cutAfter?: number
  /** Reports `error` after this many events, and ends. */
  readonly errorAfter?: number
  /** Answers with this status and error instead. */
  readonly status?: number
  readonly error?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
}

/** A request as the upstream receives it. */
export interface ReceivedRequest {
  readonly messages: readonly {
    readonly role: string
    readonly content: unknown
    readonly tool_call_id?: string
    readonly tool_calls?: readonly {
      readonly id: string
      readonly function: { readonly name: string; readonly arguments: string }
    }[]
    readonly reasoning_content?: string
  }[]
  readonly tools?: readonly { readonly function: { readonly name: string; readonly parameters?: unknown } }[]
  readonly stream?: boolean
  readonly [field: string]: unknown
}

export type ScriptedModel = ScriptedServer<ReceivedRequest>

export const fine = (): ScriptedAnswer => ({ text: 'All done.' })

/** A plan whose quota ends with one long answer. */
export const smallPlan = { small: createPlan('Small', 6_000, 100_000) }
/** A plan whose requests per minute `useUpMinute` uses up. */
export const slowPlan = { slow: createPlan('Slow', 1e9, 60) }

/** The requests are refused for their bodies. The gateway needs a clock that stands still: a program takes seconds to start. */
export async function useUpMinute({ gateway, token }: { readonly gateway: TestGateway; readonly token: string }): Promise<void> {
  let status = 0
  while (status !== 429) ({ status } = await gateway.chat(token, { messages: [] }))
}

function createPlan(name: string, credits: number, rpm: number) {
  const pool = { day: credits, week: credits, month: credits }
  return { name, prices: [{ amount: 0 }], rpm, concurrency: 1_000, pools: { fast: pool, premium: pool } }
}

/** `answer` is called with each request, and with the number of requests before it. */
export async function startScriptedModel(
  t: TestScope,
  answer: (request: ReceivedRequest, before: number) => ScriptedAnswer,
): Promise<ScriptedModel> {
  return startScriptedServer<ReceivedRequest>(t, async (request, response, text, { requests }) => {
    if (request.method !== 'POST') return void response.writeHead(404).end()
    const body = JSON.parse(text) as ReceivedRequest
    const scripted = answer(body, requests.length)
    requests.push(body)
    const { status, error, headers } = scripted
    if (status !== undefined)
      return sendJson(response, status, { error: { message: 'scripted', type: 'server_error', ...error } }, headers)
    if (body.stream === true) await stream(response, scripted)
    else sendJson(response, 200, toCompletion(scripted))
  })
}

const head = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'scripted' }

function toUsage({ usage = { prompt_tokens: 1200, completion_tokens: 34 } }: ScriptedAnswer): object {
  return { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens }
}

function getFinish({ finish, calls = [] }: ScriptedAnswer): string {
  return finish ?? (calls.length > 0 ? 'tool_calls' : 'stop')
}

function toCompletion(scripted: ScriptedAnswer): object {
  const { reasoning, text, calls = [] } = scripted
  const message = {
    role: 'assistant',
    content: text ?? null,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map((call, index) => toToolCall(call, index, call.arguments)) }),
  }
  const choices = [{ index: 0, message, finish_reason: getFinish(scripted) }]
  return { ...head, object: 'chat.completion', choices, usage: toUsage(scripted) }
}

function toToolCall({ id, name }: ScriptedCall, index: number, args: string): object {
  return { index, id, type: 'function', function: { name, arguments: args } }
}

async function stream(response: ServerResponse, scripted: ScriptedAnswer): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  const { reasoning = '', text = '', calls = [], silenceMs = 0, cutAfter = Infinity } = scripted
  const deltas: object[] = [
    { role: 'assistant', content: '' },
    ...split(reasoning).map((piece) => ({ reasoning_content: piece })),
    ...split(text).map((content) => ({ content })),
    ...calls.flatMap((call, index) => [
      { tool_calls: [toToolCall(call, index, '')] },
      ...split(call.arguments).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
  ]
  const chunks: object[] = deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] }))
  chunks.push(
    { choices: [{ index: 0, delta: {}, finish_reason: getFinish(scripted) }] },
    { choices: [], usage: toUsage(scripted) },
  )
  for (const [i, chunk] of chunks.entries()) {
    if (i === 1 && silenceMs > 0) await sleep(silenceMs)
    if (i >= cutAfter) return void response.destroy()
    if (i === scripted.errorAfter) return void response.end(`data: ${JSON.stringify({ error: scripted.error })}\n\n`)
    response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...chunk })}\n\n`)
    // Each event in a packet of its own, or a cut loses those before it.
    await sleep(1)
  }
  response.end('data: [DONE]\n\n')
}

function split(text: string): readonly string[] {
  return text.match(/[^]{1,12}/gu) ?? []
}
