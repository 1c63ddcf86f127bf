/**
 * A small real HTTP server that speaks the service's contract, for the tests of the command line: what the command sends is
 * recorded, and each route answers as the test says.
 */
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Code } from '../../src/errors.ts'
import { GatewayError } from '../../src/errors.ts'

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Record<string, unknown>
}

export type Route = (received: Received, response: ServerResponse, request: IncomingMessage) => void | Promise<void>

export interface ContractServer extends AsyncDisposable {
  readonly origin: string
  readonly received: Received[]
  /** `GET /v1/models` and the like. */
  readonly routes: Record<string, Route>
  close(): Promise<void>
}

export async function startContractServer(routes: Record<string, Route> = {}): Promise<ContractServer> {
  const received: Received[] = []
  const all: Record<string, Route> = { ...routes }
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const path = new URL(request.url ?? '/', 'http://x').pathname
    const entry: Received = {
      method: request.method ?? '',
      path,
      headers: request.headers,
      body: body === '' ? {} : JSON.parse(body),
    }
    received.push(entry)
    const route = all[`${entry.method} ${path}`]
    if (route === undefined) return fail(response, entry, 'not_found')
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
    received,
    routes: all,
    close,
    [Symbol.asyncDispose]: close,
  }
}

export function json(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
}

/** The envelope, as the service prints it. */
export function envelope(received: Pick<Received, 'headers'>, code: Code, upstreamStatus?: number): Record<string, unknown> {
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

export function fail(
  response: ServerResponse,
  received: Received,
  code: Code,
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
    .end(JSON.stringify(envelope(received, code, upstreamStatus)))
}

/** A chunk of a streamed answer as its event. */
export function chunk(content: string, finish: string | null = null): string {
  const choices = [{ index: 0, delta: content === '' ? {} : { content }, finish_reason: finish }]
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'svc-2.1', choices })}\n\n`
}

export function streamOf(...texts: string[]): Route {
  return (_received, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    for (const part of texts) response.write(chunk(part))
    response.end(`${chunk('', 'stop')}data: [DONE]\n\n`)
  }
}
