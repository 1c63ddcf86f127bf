/** The demonstration upstream: a small OpenAI-compatible server on loopback, which answers helpfully on a first run. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Clock } from '../system/clock.ts'
import { createServer } from '../system/vendor/node-http.ts'
import { createAnswer, demoModels, toModel } from './answer.ts'
import { encodeChunks, encodeWhole } from './encode.ts'
import { BadRequest, parseChat } from './request.ts'
import type { ChatRequest } from './request.ts'

export interface DemoUpstream {
  /** Base URL for clients; ends in `/v1`. */
  readonly url: string
  /** Closes every connection, then the server. */
  close(): Promise<void>
}

/** Reads like a model at work. */
const ttftMs = 150
const betweenMs = 18

export async function startDemoUpstream(clock: Clock): Promise<DemoUpstream> {
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    serve(request, response, clock).catch((error: unknown) => {
      if (!(error instanceof BadRequest) || response.headersSent) return response.destroy()
      const { message, code, param, status } = error
      sendJson(response, { error: { message, type: 'invalid_request_error', param, code } }, status)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async close() {
      server.close()
      server.closeAllConnections()
      if (server.listening) await once(server, 'close')
    },
  }
}

async function serve(request: IncomingMessage, response: ServerResponse, clock: Clock): Promise<void> {
  const body = (await buffer(request)).toString()
  const createdSeconds = Math.floor(clock.now() / 1000)
  const path = `${request.method} ${request.url?.replace(/\?.*$/, '')}`
  if (path === 'POST /v1/chat/completions') return answerChat(parseChat(body), response, createdSeconds, clock)
  if (path === 'GET /v1/models') return sendJson(response, { object: 'list', data: demoModels.map(toModel) })
  const id = demoModels.find((name) => path === `GET /v1/models/${name}`)
  if (id === undefined) throw new BadRequest(`Invalid URL (${path})`, { status: 404, code: 'unknown_url' })
  sendJson(response, toModel(id))
}

async function answerChat(request: ChatRequest, response: ServerResponse, created: number, clock: Clock): Promise<void> {
  const { model, stream, stream_options: options, n } = request
  if (!demoModels.some((id) => id === model))
    throw new BadRequest(`The model '${model}' does not exist.`, { status: 404, code: 'model_not_found', param: 'model' })
  const answer = createAnswer(request)
  const frame = { id: `chatcmpl-demo-${created}`, created, model, n: n ?? 1 }
  const disconnect = new AbortController()
  response.once('close', () => disconnect.abort())
  await clock.wait(ttftMs, disconnect.signal)
  if (stream !== true) return sendJson(response, encodeWhole(answer, frame))
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  for (const chunk of encodeChunks(answer, frame, options?.include_usage === true)) {
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
    await clock.wait(betweenMs, disconnect.signal)
  }
  response.end('data: [DONE]\n\n')
}

function sendJson(response: ServerResponse, value: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
