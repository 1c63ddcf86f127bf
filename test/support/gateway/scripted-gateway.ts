/** A gateway whose product is served by a scripted upstream of one API. */
import type { Test } from 'tap'
import type { AnthropicAnswer, ReceivedRequest as ReceivedMessages } from '../upstream/anthropic-server.ts'
import { anthropicKey, startAnthropicServer } from '../upstream/anthropic-server.ts'
import type { GeminiAnswer, ReceivedRequest as ReceivedGenerate } from '../upstream/gemini-server.ts'
import { geminiKey, startGeminiServer } from '../upstream/gemini-server.ts'
import type { ReceivedRequest as ReceivedResponses, ResponsesAnswer } from '../upstream/responses-server.ts'
import { responsesKey, startResponsesServer } from '../upstream/responses-server.ts'
import type { ScriptedServer } from '../upstream/scripted-server.ts'
import { startGateway } from './test-gateway.ts'
import type { Overrides, TestGateway } from './test-gateway.ts'

export interface ScriptedGateway<ReceivedRequest> {
  readonly gateway: TestGateway
  readonly server: ScriptedServer<ReceivedRequest>
  readonly account: string
  readonly token: string
  /** `POST` to any endpoint. */
  post(path: string, body: object, headers?: Readonly<Record<string, string>>): Promise<Response>
}

/** The upstream is `claude`, its model `claude-one`. */
export async function setUpAnthropicGateway(
  t: Test,
  answer: (request: ReceivedMessages, before: number) => AnthropicAnswer = () => ({}),
  overrides: Overrides = {},
): Promise<ScriptedGateway<ReceivedMessages>> {
  const server = await startAnthropicServer(t, answer)
  const upstream = { baseUrl: server.url, apiKey: anthropicKey, kind: 'anthropic' } as const
  return { server, ...(await setUp(t, { claude: upstream }, 'claude-one', overrides)) }
}

/** The upstream is `openai`, its model `gpt-one`. */
export async function setUpResponsesGateway(
  t: Test,
  answer: (request: ReceivedResponses, before: number) => ResponsesAnswer = () => ({}),
  overrides: Overrides = {},
): Promise<ScriptedGateway<ReceivedResponses>> {
  const server = await startResponsesServer(t, answer)
  const upstream = { baseUrl: server.url, apiKey: responsesKey, responses: true } as const
  return { server, ...(await setUp(t, { openai: upstream }, 'gpt-one', overrides)) }
}

/** The upstream is `google`, its model `gemini-one`. */
export async function setUpGeminiGateway(
  t: Test,
  answer: (request: ReceivedGenerate, before: number) => GeminiAnswer = () => ({}),
  overrides: Overrides = {},
): Promise<ScriptedGateway<ReceivedGenerate>> {
  const server = await startGeminiServer(t, answer)
  const upstream = { baseUrl: server.url, apiKey: geminiKey, kind: 'gemini' } as const
  return { server, ...(await setUp(t, { google: upstream }, 'gemini-one', overrides)) }
}

async function setUp(
  t: Test,
  scripted: NonNullable<Overrides['upstreams']>,
  model: string,
  { upstreams, ...others }: Overrides,
): Promise<Omit<ScriptedGateway<unknown>, 'server'>> {
  const [name = ''] = Object.keys(scripted)
  const gateway = await startGateway(t, {
    upstreams: { ...upstreams, [name]: { ...scripted[name], ...upstreams?.[name] } },
    products: { 'svc-2.1': { targets: [{ upstream: name, model }] } },
    ...others,
  })
  const { id: account, token } = await gateway.createMember()
  const post: ScriptedGateway<unknown>['post'] = (path, body, headers = {}) =>
    fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'svc-2.1', ...body }),
    })
  return { gateway, account, token, post }
}
