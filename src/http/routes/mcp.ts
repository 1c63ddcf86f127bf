/** `/v1/mcp`: the tools, discovered by GET, called as plain REST, or through the Model Context Protocol. */
import type { Router } from '../../system/vendor/koa-router.ts'
import type { Context } from 'koa'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { callTool, discoverTools, postMcpMessage } from '../../api/tools.ts'
import { GatewayError, invalidRequest } from '../../errors.ts'
import { createInboundWithChat } from '../../exchange/inbound-with-chat.ts'
import { checkUnicode, isRecord, parseJsonBody } from '../../exchange/request/chat-request.ts'
import type { ChatRequest } from '../../exchange/request/chat-request.ts'
import type { ResponseSink } from '../../exchange/response-sink.ts'
import type { CallResult, Exchange, Slots } from '../../exchange/exchange.ts'
import { zeroUsage } from '../../exchange/exchange.ts'
import { jsonHeaders } from '../../exchange/response-headers.ts'
import type { CallContext } from '../../exchange/plugins/plugin-chain.ts'
import { BufferedResponse } from '../../tools/mcp/buffered-response.ts'
import { createNestedTurn } from '../../tools/nested-turn.ts'
import { checkOrigin } from '../../tools/mcp/origin-check.ts'
import { createDiscovery, parseToolCall, getServerInfo, listTools } from '../../tools/mcp/web-search-tool.ts'
import { toDocumentResult, toFailureResult } from '../../tools/mcp/tool-result.ts'
import { toSearchAnswer } from '../../tools/search/search-answer.ts'
import { createSearchRequest } from '../../tools/search/query.ts'
import type { RouteDeps } from '../route-deps.ts'
import { readBody, readJson } from '../request/read-body.ts'
import { bypassKoa } from '../response/response-writer.ts'
import { getExchange } from '../request-context.ts'
import { createDocumentAnswer, mount, toBodyReadOptions, toMemberOwner } from '../endpoint-handler.ts'

export function mountMcpRoutes(router: Router, deps: RouteDeps): void {
  const { services, chain, turnHandlers } = deps

  mount(router, discoverTools, async (ctx) => {
    checkOrigin(ctx.req.headers, services)
    // Clients of the older protocol request a stream of notifications; none are offered.
    if (ctx.get('accept').includes('text/event-stream')) throw createMethodNotAllowedError()
    const discover = async ({ caller }: Partial<Slots>): Promise<CallResult> =>
      createDocumentAnswer(
        discoverTools,
        await createDiscovery(listTools(caller, turnHandlers.search, services), turnHandlers.search, services),
      )
    await chain.run(getExchange(ctx, 'unmetered', services), discover, bypassKoa(ctx), services)
  })

  mount(router, callTool, async (ctx) => {
    checkOrigin(ctx.req.headers, services)
    const x = getExchange(ctx, 'turn', services)
    const chat = async (member?: string): Promise<ChatRequest> => {
      const options = { ...toBodyReadOptions(ctx, services), owner: toMemberOwner(ctx, member) }
      const { name, arguments: args } = await readJson(ctx.req, options)
      return createSearchRequest(parseToolCall(name, args), turnHandlers.search.model)
    }
    const find = async (x: Exchange & Partial<Slots>, wire: CallContext): Promise<CallResult> =>
      toSearchAnswer(await turnHandlers.search.search(x, wire))
    await chain.run({ ...x, inbound: createInboundWithChat(x.inbound, chat) }, find, bypassKoa(ctx), services)
  })

  mount(router, postMcpMessage, async (ctx) => {
    checkOrigin(ctx.req.headers, services)
    const answer = (x: Exchange & Partial<Slots>, wire: CallContext): Promise<CallResult> => handleMessage(ctx, x, wire, deps)
    await chain.run(getExchange(ctx, 'unmetered', services), answer, bypassKoa(ctx), services)
  })
}

async function handleMessage(
  ctx: Context,
  x: Exchange & Partial<Slots>,
  wire: CallContext,
  deps: RouteDeps,
): Promise<CallResult> {
  const { services, turnHandlers } = deps
  const owner = toMemberOwner(ctx, x.caller?.account.id)
  const rawBody = await readBody(ctx.req, { maxBytes: services.config.limits.mcpBodyBytes, owner, services })
  const message = parseMessage(rawBody)
  if (message['method'] === 'subscriptions/listen') return createMethodNotFoundAnswer(message, x)
  const disconnection = new AbortController()
  wire.client.onDisconnect(() => disconnection.abort())
  const request = new Request(`${services.origins.base}/v1/mcp`, {
    method: 'POST',
    headers: pickProtocolHeaders(ctx),
    body: new Uint8Array(rawBody),
    signal: disconnection.signal,
  })
  const { handleMcpMessage } = await import('../../tools/mcp/handle-message.ts')
  const response = await handleMcpMessage(request, message, {
    x,
    names: services.names,
    info: getServerInfo(services),
    tools: listTools(x.caller, turnHandlers.search, services),
    parseCall: parseToolCall,
    call: (query) => runNestedTurn(query, x, wire, deps),
  })
  return forwardResponse(response, wire.client, wire.headers())
}

/** Runs a turn inside the request that carries it; the outer request has passed authentication and rate limits. */
async function runNestedTurn(
  query: string,
  outer: Exchange & Partial<Slots>,
  wire: CallContext,
  { services, chain, turnHandlers }: RouteDeps,
): Promise<CallToolResult> {
  const chat = async (): Promise<ChatRequest> => createSearchRequest(query, turnHandlers.search.model)
  const turn = createNestedTurn({ outer, chat, clock: services.clock })
  const client = new BufferedResponse(wire.client)
  const find = async (x: Exchange & Partial<Slots>, wire: CallContext): Promise<CallResult> =>
    toSearchAnswer(await turnHandlers.search.search(x, wire))
  const outcome = await chain.run(turn, find, client, services)
  if (outcome.kind === 'failed') return toFailureResult(turn, outcome.failure)
  // The client has disconnected; no one receives this error.
  if (client.body === null) throw new Error('the client left')
  return toDocumentResult(turn, client.body)
}

function parseMessage(raw: Buffer): Record<string, unknown> {
  const message = parseJsonBody(raw)
  // A batch would carry many calls for one rate-limited request.
  if (!isRecord(message))
    throw invalidRequest({
      en: 'the body must be one JSON-RPC message; batches are not accepted.',
      zh: '请求内容必须是单条 JSON-RPC 消息，不支持批量。',
    })
  checkUnicode(raw, message)
  return message
}

/** A subscription stream would stay open for changes that never come. */
function createMethodNotFoundAnswer({ id }: Record<string, unknown>, x: Exchange): CallResult {
  const data = { requestId: x.id, code: 'not_found', stage: 'validation' }
  const error = { code: -32_601, message: 'Method not found', data }
  const requestId = typeof id === 'string' || typeof id === 'number' ? id : null
  const body = JSON.stringify({ jsonrpc: '2.0', id: requestId, error })
  return { usage: zeroUsage, final: { kind: 'reply', reply: { status: 404, headers: jsonHeaders, body } } }
}

const protocolMediaTypes = 'application/json, text/event-stream'

/** Copies only the client headers that the protocol reads. The package compares `accept` as text and does not match wildcards. */
function pickProtocolHeaders({ req }: Context): Headers {
  const headers = new Headers({ 'content-type': 'application/json', accept: protocolMediaTypes })
  for (const [name, value] of Object.entries(req.headers)) {
    if (typeof value !== 'string') continue
    if (name.startsWith('mcp-') || (name === 'accept' && !value.includes('*/*'))) headers.set(name, value)
  }
  return headers
}

/** Forwards an event stream chunk by chunk, so that its comments keep the connection alive; buffers anything else. */
async function forwardResponse(
  response: Response,
  client: ResponseSink,
  headers: Readonly<Record<string, string>>,
): Promise<CallResult> {
  const ownHeaders: Record<string, string> = {}
  for (const name of ['content-type', 'allow']) {
    const value = response.headers.get(name)
    if (value !== null) ownHeaders[name] = value
  }
  if (response.body === null || !(ownHeaders['content-type'] ?? '').startsWith('text/event-stream')) {
    const body = await response.text()
    return { usage: zeroUsage, final: { kind: 'reply', reply: { status: response.status, headers: ownHeaders, body } } }
  }
  client.writeHead(response.status, {
    ...headers,
    ...ownHeaders,
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  })
  const text = new TextDecoder()
  for await (const chunk of response.body) client.write(text.decode(chunk, { stream: true }))
  return { usage: zeroUsage, final: { kind: 'trailer', frames: text.decode() } }
}

function createMethodNotAllowedError(): GatewayError {
  return new GatewayError('method_not_allowed', { headers: { allow: 'GET, POST' } })
}
