/**
 * A small real HTTP server with the service's contract, for the tests of the command line: it records the requests, and each route
 * answers as the test defines.
 */
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { ErrorCode } from '../../../src/errors.ts'
import { GatewayError } from '../../../src/errors.ts'

export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Record<string, unknown>
}

export type Route = (received: ReceivedRequest, response: ServerResponse, request: IncomingMessage) => void | Promise<void>

export interface StubGateway extends AsyncDisposable {
  readonly origin: string
  readonly requests: ReceivedRequest[]
  /** `GET /v1/models` and the like. */
  readonly routes: Record<string, Route>
  close(): Promise<void>
}

export async function startStubGateway(routes: Record<string, Route> = {}): Promise<StubGateway> {
  const requests: ReceivedRequest[] = []
  const allRoutes: Record<string, Route> = { ...routes }
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const path = new URL(request.url ?? '/', 'http://x').pathname
    const entry: ReceivedRequest = {
      method: request.method ?? '',
      path,
      headers: request.headers,
      body: body === '' ? {} : JSON.parse(body),
    }
    requests.push(entry)
    const route = allRoutes[`${entry.method} ${path}`]
    if (route === undefined) return sendError(response, entry, 'not_found')
    await route(entry, response, request)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    routes: allRoutes,
    close,
    [Symbol.asyncDispose]: close,
  }
}

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
}

/** The error envelope of the service. */
export function createErrorEnvelope(
  received: Pick<ReceivedRequest, 'headers'>,
  code: ErrorCode,
  upstreamStatus?: number,
): Record<string, unknown> {
  const error = new GatewayError(code, {
    params: { ids: 'auto, svc', detail: { en: "'messages' must be an array.", zh: "'messages' 必须是数组。" } },
  })
  const id = received.headers['x-svc-request-id']
  return {
    ok: false,
    requestId: id,
    error: { message: error.message, type: error.type, code, param: null },
    message: error.message,
    messageZh: error.messageZh,
    code,
    stage: error.stage,
    actions: error.actions,
    debug: upstreamStatus === undefined ? {} : { upstreamStatus, quotaRefunded: true },
  }
}

export function sendError(
  response: ServerResponse,
  received: ReceivedRequest,
  code: ErrorCode,
  upstreamStatus?: number,
  headers: Record<string, string> = {},
): void {
  const error = new GatewayError(code)
  response
    .writeHead(error.status, {
      'content-type': 'application/json; charset=utf-8',
      'x-svc-request-id': String(received.headers['x-svc-request-id']),
      'x-svc-error-code': code,
      'x-svc-error-stage': error.stage,
      ...headers,
    })
    .end(JSON.stringify(createErrorEnvelope(received, code, upstreamStatus)))
}

/** A chunk of a streamed answer as its event. */
export function toChunkEvent(content: string, finish: string | null = null): string {
  const choices = [{ index: 0, delta: content === '' ? {} : { content }, finish_reason: finish }]
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'svc-2.1', choices })}\n\n`
}

export function createStreamRoute(...texts: string[]): Route {
  return (_received, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    for (const part of texts) response.write(toChunkEvent(part))
    response.end(`${toChunkEvent('', 'stop')}data: [DONE]\n\n`)
  }
}
