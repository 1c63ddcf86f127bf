/** `/v1/mcp`: the tools, discovered by GET, called as plain REST, and spoken to in the Model Context Protocol. */
import type { Router } from '../router.ts'
import type { Context } from 'koa'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { callTool, discoverTools, speakProtocol } from '../../api/tools.ts'
import { GatewayError, invalidRequest } from '../../errors.ts'
import { asking } from '../../exchange/asking.ts'
import { isRecord } from '../../exchange/chat-request.ts'
import type { ChatRequest } from '../../exchange/chat-request.ts'
import type { Client } from '../../exchange/client.ts'
import type { Answer, Exchange, Slots } from '../../exchange/exchange.ts'
import { nothingUsed } from '../../exchange/exchange.ts'
import { jsonHeaders } from '../../exchange/headers.ts'
import type { Wire } from '../../exchange/run.ts'
import { CapturedClient } from '../../tools/mcp/captured-client.ts'
import { checkOrigin } from '../../tools/mcp/guard.ts'
import { discoveryOf, queryOfCall, serverInfo, toolsFor } from '../../tools/mcp/tool.ts'
import { documentResult, failureResult } from '../../tools/mcp/tool-result.ts'
import { foundAnswer } from '../../tools/search/completion.ts'
import { askFor } from '../../tools/search/query.ts'
import type { RouteParts } from '../route-parts.ts'
import { readBody, readJson } from '../body.ts'
import { takeOver } from '../client.ts'
import { exchangeOf } from '../door.ts'
import { mount } from '../serve.ts'
import { documentAnswer } from './document-answer.ts'

export function mcpRoutes(router: Router, parts: RouteParts): void {
  const { services, chain, calls } = parts
  const { limits } = services.config

  mount(router, discoverTools, async (ctx) => {
    checkOrigin(ctx.req.headers, services)
    // Clients of the older protocol try for a stream of notifications; there are none to be had.
    if (ctx.get('accept').includes('text/event-stream')) throw methodNotAllowed()
    const discover = async ({ caller }: Partial<Slots>): Promise<Answer> =>
      documentAnswer(discoverTools, await discoveryOf(toolsFor(caller, calls.search, services), calls.search, services))
    await chain.run(exchangeOf(ctx, 'query', services), discover, takeOver(ctx), services)
  })

  mount(router, callTool, async (ctx) => {
    checkOrigin(ctx.req.headers, services)
    const x = exchangeOf(ctx, 'turn', services)
    const chat = async (): Promise<ChatRequest> => {
      const { name, arguments: args } = await readJson(ctx.req, limits.otherBodyBytes)
      return askFor(queryOfCall(name, args), calls.search.model)
    }
    const find = async (x: Exchange & Partial<Slots>, wire: Wire): Promise<Answer> =>
      foundAnswer(await calls.search.find(x, wire))
    await chain.run({ ...x, inbound: asking(x.inbound, chat) }, find, takeOver(ctx), services)
  })

  mount(router, speakProtocol, async (ctx) => {
    checkOrigin(ctx.req.headers, services)
    const speak = (x: Exchange & Partial<Slots>, wire: Wire): Promise<Answer> => answerMessage(ctx, x, wire, parts)
    await chain.run(exchangeOf(ctx, 'query', services), speak, takeOver(ctx), services)
  })
}

async function answerMessage(ctx: Context, x: Exchange & Partial<Slots>, wire: Wire, parts: RouteParts): Promise<Answer> {
  const { services, calls } = parts
  const raw = await readBody(ctx.req, services.config.limits.mcpBodyBytes)
  const message = parse(raw)
  if (message['method'] === 'subscriptions/listen') return noSuchMethod(message, x)
  const gone = new AbortController()
  wire.client.onLeave(() => gone.abort())
  const request = new Request(`${services.origins.base}/v1/mcp`, {
    method: 'POST',
    headers: protocolHeaders(ctx),
    body: new Uint8Array(raw),
    signal: gone.signal,
  })
  const { serve } = await import('../../tools/mcp/serve.ts')
  const response = await serve(request, message, {
    x,
    names: services.names,
    info: serverInfo(services),
    tools: toolsFor(x.caller, calls.search, services),
    check: queryOfCall,
    call: (query) => callWithin(query, x, wire, parts),
  })
  return passOn(response, wire.client, wire.headers())
}

/** A turn within the request that carried it: who asks, and how fast they may, has been settled there. */
async function callWithin(
  query: string,
  outer: Exchange & Partial<Slots>,
  wire: Wire,
  { services, chain, calls }: RouteParts,
): Promise<CallToolResult> {
  const chat = async (): Promise<ChatRequest> => askFor(query, calls.search.model)
  const { id, echo, names } = outer
  const turn: Exchange & Partial<Slots> = {
    id,
    echo,
    kind: 'turn',
    names,
    startedAt: services.clock.now(),
    startedTicks: services.clock.ticks(),
    inbound: asking(outer.inbound, chat),
    headers: {},
    debug: {},
    attempted: { target: null, status: null },
    within: outer,
  }
  const client = new CapturedClient(wire.client)
  const find = async (x: Exchange & Partial<Slots>, wire: Wire): Promise<Answer> => foundAnswer(await calls.search.find(x, wire))
  const outcome = await chain.run(turn, find, client, services)
  if (outcome.kind === 'failed') return failureResult(turn, outcome.failure)
  // Whoever asked has gone; what is thrown here reaches nobody.
  if (client.body === null) throw new Error('the client left')
  return documentResult(client.body)
}

function parse(raw: Buffer): Record<string, unknown> {
  let message: unknown
  try {
    message = JSON.parse(raw.toString('utf8'))
  } catch {
    throw invalidRequest({ en: 'the body is not JSON.', zh: '请求内容不是有效的 JSON。' })
  }
  // A batch would be many calls for the price of one request.
  if (!isRecord(message))
    throw invalidRequest({
      en: 'the body must be one JSON-RPC message; batches are not taken.',
      zh: '请求内容必须是单条 JSON-RPC 消息,不支持批量。',
    })
  return message
}

/** Such a stream would be held open for changes that never come. */
function noSuchMethod({ id }: Record<string, unknown>, x: Exchange): Answer {
  const data = { requestId: x.id, code: 'not_found', stage: 'validation' }
  const error = { code: -32_601, message: 'Method not found', data }
  const known = typeof id === 'string' || typeof id === 'number' ? id : null
  const body = JSON.stringify({ jsonrpc: '2.0', id: known, error })
  return { usage: nothingUsed, last: { kind: 'reply', reply: { status: 404, headers: jsonHeaders, body } } }
}

/** Of the client's headers only those that the protocol reads. */
function protocolHeaders({ req }: Context): Headers {
  const headers = new Headers({ 'content-type': 'application/json' })
  for (const [name, value] of Object.entries(req.headers)) {
    if (typeof value === 'string' && (name === 'accept' || name.startsWith('mcp-'))) headers.set(name, value)
  }
  return headers
}

/** A stream is passed on as it comes, so that its comments keep the connection; anything else whole. */
async function passOn(response: Response, client: Client, headers: Readonly<Record<string, string>>): Promise<Answer> {
  const own: Record<string, string> = {}
  for (const name of ['content-type', 'allow']) {
    const value = response.headers.get(name)
    if (value !== null) own[name] = value
  }
  if (response.body === null || !(own['content-type'] ?? '').startsWith('text/event-stream')) {
    const body = await response.text()
    return { usage: nothingUsed, last: { kind: 'reply', reply: { status: response.status, headers: own, body } } }
  }
  client.open(response.status, { ...headers, ...own, 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' })
  const text = new TextDecoder()
  for await (const chunk of response.body) client.write(text.decode(chunk, { stream: true }))
  return { usage: nothingUsed, last: { kind: 'tail', frames: text.decode() } }
}

function methodNotAllowed(): GatewayError {
  return new GatewayError('method_not_allowed', { headers: { allow: 'GET, POST' } })
}
