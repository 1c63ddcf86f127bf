/** A gateway in front of a server of chat completions that rejects requests in the words of its vendor. */
import type { Test } from 'tap'
import { sendJson, startScriptedServer } from '../upstream/scripted-server.ts'
import { startGateway } from './test-gateway.ts'
import type { Overrides } from './test-gateway.ts'

export type Body = Readonly<Record<string, unknown>>

/** The status and body of a rejection, or the pieces of a streamed answer. */
export type Answer = readonly [status: number, error: unknown] | readonly object[]

export interface ScriptedVendor {
  readonly sent: readonly string[]
  post(path: string, body: Body): Promise<Response>
  /** The blocks or items of a whole answer. */
  read(path: string, body: Body): Promise<readonly Body[]>
}

export const ok: Answer = [{ role: 'assistant', content: 'ok' }]
const isRejection = (answer: Answer): answer is readonly [number, unknown] => typeof answer[0] === 'number'

/** `svc-2.1` and `svc-2.1-pro` are the same model of one upstream. */
export async function startVendor(
  t: Test,
  answer: (text: string, before: number) => Answer,
  main: object = {},
): Promise<ScriptedVendor> {
  const { url, requests: sent } = await startScriptedServer<string>(t, (_, response, text, { requests }) => {
    const given = answer(text, requests.length)
    requests.push(text)
    if (isRejection(given)) return sendJson(response, given[0], given[1])
    const head = { id: 'chatcmpl-x', object: 'chat.completion.chunk', created: 1_764_000_000, model: 'up' }
    const hasCalls = given.some((delta) => 'tool_calls' in delta)
    const choices = given.map((delta) => ({ index: 0, delta, finish_reason: null as string | null }))
    choices.push({ index: 0, delta: {}, finish_reason: hasCalls ? 'tool_calls' : 'stop' })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const choice of choices) response.write(`data: ${JSON.stringify({ ...head, choices: [choice] })}\n\n`)
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
    response.end(`data: ${JSON.stringify({ ...head, choices: [], usage })}\n\ndata: [DONE]\n\n`)
  })
  const targets = [{ upstream: 'main', model: 'up' }]
  const overrides: Overrides = {
    upstreams: { main: { baseUrl: url, ...main } },
    products: {
      'svc-2.1': { targets, capabilities: ['chat', 'tools', 'vision'] },
      'svc-2.1-pro': { targets, capabilities: ['chat', 'tools', 'vision'] },
    },
  }
  const gateway = await startGateway(t, overrides)
  const { token } = await gateway.createMember()
  const post = (path: string, body: Body): Promise<Response> =>
    fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc-2.1', ...(path === '/v1/messages' ? { max_tokens: 500 } : {}), ...body }),
    })
  const read = async (path: string, body: Body): Promise<readonly Body[]> => {
    const response = await post(path, body)
    const answer = (await response.json()) as { content?: Body[]; output?: Body[]; choices?: { message: Body }[] }
    t.equal(response.status, 200, JSON.stringify(answer))
    return answer.content ?? answer.output ?? (answer.choices ?? []).map(({ message }) => message)
  }
  return { sent, post, read }
}

/** In OpenAI's form. */
export const error = (message: string, more: object = {}) =>
  [400, { error: { message, type: 'invalid_request_error', param: null, code: null, ...more } }] as const
