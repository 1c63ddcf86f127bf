/**
 * The Model Context Protocol over one HTTP request. The official server package implements it, in both revisions, without state. A server
 * object is created for each request and discarded with it, so that callers share nothing.
 */
import { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server'
import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import { GatewayError } from '../../errors.ts'
import type { BrandNames } from '../../exchange/brand-names.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import { ownJsonBounds, parseJson } from '../../system/parse-json.ts'

interface McpRequestContext {
  readonly x: Pick<Exchange, 'id'>
  readonly names: Pick<BrandNames, 'slug'>
  readonly info: { readonly name: string; readonly title: string; readonly version: string }
  readonly tools: readonly Tool[]
  /** Validates a call before anything is reserved. @throws GatewayError */
  parseCall(name: unknown, args: unknown): string
  /** Runs a call. */
  call(query: string): Promise<CallToolResult>
}

const minuteMs = 60_000

/** Answers one message. `request` has the headers, `message` the parsed body. */
export async function handleMcpMessage(request: Request, message: unknown, context: McpRequestContext): Promise<Response> {
  const handler = createMcpHandler(() => createServer(context), { legacy: 'stateless' })
  const response = await handler.fetch(request, { parsedBody: message })
  return withErrorData(response, context)
}

function createServer(context: McpRequestContext): Server {
  const server = new Server(context.info, {
    capabilities: { tools: { listChanged: false } },
    instructions: 'Use web_search for what you do not know or what may have changed; cite the results by their URLs.',
    cacheHints: {
      'tools/list': { ttlMs: 5 * minuteMs, cacheScope: 'private' },
      'server/discover': { ttlMs: 5 * minuteMs, cacheScope: 'private' },
    },
  })
  server.setRequestHandler('tools/list', () => ({ tools: [...context.tools] }))
  server.setRequestHandler('tools/call', ({ params }) => {
    const isKnownTool = context.tools.some(({ name }) => name === params.name)
    return context.call(parseCallOrThrow(isKnownTool ? params.name : '', params.arguments, context))
  })
  return server
}

function parseCallOrThrow(name: string, args: unknown, context: McpRequestContext): string {
  try {
    return context.parseCall(name, args)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message, createErrorData(context, error.code, error.stage))
  }
}

function createErrorData({ x }: Pick<McpRequestContext, 'x'>, code: string, stage: string): Record<string, unknown> {
  return { requestId: x.id, code, stage }
}

/** Adds our reference to the package's own errors, beside the package's data. */
async function withErrorData(response: Response, context: McpRequestContext): Promise<Response> {
  if (!(response.headers.get('content-type') ?? '').startsWith('application/json')) return response
  const text = await response.text()
  const message = parseJson(text, ownJsonBounds) as { error?: { data?: unknown } }
  const { error } = message
  const init = { status: response.status, headers: response.headers }
  if (error === undefined || (typeof error.data === 'object' && error.data !== null && 'requestId' in error.data))
    return new Response(text, init)
  const data = typeof error.data === 'object' ? error.data : { detail: error.data }
  const withData = {
    ...message,
    error: { ...error, data: { ...data, ...createErrorData(context, 'invalid_request', 'validation') } },
  }
  return new Response(JSON.stringify(withData), init)
}
