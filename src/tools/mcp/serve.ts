/**
 * The Model Context Protocol over one HTTP request. The official server package speaks it, in both of its eras, without state; a server
 * object is made for each request and thrown away with it, so that nothing of one caller can reach another.
 */
import { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server'
import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import { GatewayError } from '../../errors.ts'
import type { Names } from '../../config/brand.ts'
import type { Exchange } from '../../exchange/exchange.ts'

export interface Serving {
  readonly x: Pick<Exchange, 'id'>
  readonly names: Pick<Names, 'slug'>
  readonly info: { readonly name: string; readonly title: string; readonly version: string }
  readonly tools: readonly Tool[]
  /** Checks a call, before anything is spent. @throws GatewayError */
  check(name: unknown, args: unknown): string
  /** Runs one. */
  call(query: string): Promise<CallToolResult>
}

const minuteMs = 60_000

/** Answers one message. `request` carries the headers, `message` the parsed body. */
export async function serve(request: Request, message: unknown, serving: Serving): Promise<Response> {
  const handler = createMcpHandler(() => serverFor(serving), { legacy: 'stateless' })
  const response = await handler.fetch(request, { parsedBody: message })
  return withErrorData(response, serving)
}

function serverFor(serving: Serving): Server {
  const server = new Server(serving.info, {
    capabilities: { tools: { listChanged: false } },
    instructions: 'Use web_search for what you do not know or what may have changed; cite the results by their URLs.',
    cacheHints: {
      'tools/list': { ttlMs: 5 * minuteMs, cacheScope: 'private' },
      'server/discover': { ttlMs: 5 * minuteMs, cacheScope: 'private' },
    },
  })
  server.setRequestHandler('tools/list', () => ({ tools: [...serving.tools] }))
  server.setRequestHandler('tools/call', ({ params }) => {
    const known = serving.tools.some(({ name }) => name === params.name)
    return serving.call(checked(known ? params.name : '', params.arguments, serving))
  })
  return server
}

function checked(name: string, args: unknown, serving: Serving): string {
  try {
    return serving.check(name, args)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message, errorData(serving, error.code, error.stage))
  }
}

function errorData({ x }: Pick<Serving, 'x'>, code: string, stage: string): Record<string, unknown> {
  return { requestId: x.id, code, stage }
}

/** What the package itself refuses gets our reference too; the package's own data stays beside it. */
async function withErrorData(response: Response, serving: Serving): Promise<Response> {
  if (!(response.headers.get('content-type') ?? '').startsWith('application/json')) return response
  const text = await response.text()
  const message = JSON.parse(text) as { error?: { data?: unknown } }
  const { error } = message
  const same = { status: response.status, headers: response.headers }
  if (error === undefined || (typeof error.data === 'object' && error.data !== null && 'requestId' in error.data))
    return new Response(text, same)
  const data = typeof error.data === 'object' ? error.data : { detail: error.data }
  const told = { ...message, error: { ...error, data: { ...data, ...errorData(serving, 'invalid_request', 'validation') } } }
  return new Response(JSON.stringify(told), same)
}
