/**
 * The fake upstream of tests and benchmarks: an OpenAI-compatible server on loopback with the answers of the demonstration, which fails in
 * any way that a test requests, and counts its calls.
 */
import { systemClock } from '../../../src/system/clock.ts'
import type { Clock } from '../../../src/system/clock.ts'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from '../../../src/system/vendor/node-http.ts'
import type { AddressInfo } from 'node:net'
import { composeContent, demoModels, limitAnswer, toModel } from '../../../src/demo-upstream/answer.ts'
import type { DemoAnswer } from '../../../src/demo-upstream/answer.ts'
import type { BenchAnswer } from './bench-answer.ts'
import { createBenchAnswer } from './bench-answer.ts'
import type { FakeCall, FakeStats } from './call-log.ts'
import { CallLog } from './call-log.ts'
import type { Reply } from './reply.ts'
import { completionReply, gzipReply, jsonReply, scriptedReply, streamReply } from './reply.ts'
import type { ChatRequest } from '../../../src/demo-upstream/request.ts'
import { BadRequest, getLastUserText, parseChat } from '../../../src/demo-upstream/request.ts'
import type { Script } from './script.ts'
import { parseScript } from './script.ts'
import { toTokens } from '../../../src/demo-upstream/tokens.ts'
import { createEmbeddings, createImages } from './other-endpoints.ts'
import { send } from './send.ts'

export interface FakeOptions {
  /** Default `127.0.0.1`. */
  readonly host?: string
  /** Default 0: any free port. */
  readonly port?: number
  readonly clock?: Clock
  /** Requires this bearer token if set. */
  readonly key?: string
  /** Milliseconds to the first token and between tokens; default none. */
  readonly pace?: Pace
  /** Obeys a last user message `demo:{...}`. Off on a first run, where a user's text is never a command. */
  readonly scripted?: boolean
  /** Obeys the header `x-demo-script`. */
  readonly faults?: boolean
  /** Number of calls to store; default 256. */
  readonly maxCalls?: number
  /** Shape of the answers of `demo-bench`; default 20 tokens per stream, without pause. */
  readonly bench?: { readonly tokens: number; readonly betweenMs: number }
}

interface Pace {
  readonly ttftMs: number
  readonly betweenMs: number
}

const models = [...demoModels, 'demo-bench', 'demo-bench-whole']

/** Chooses the script of a call after its body was read or, with `at: 'head'`, after its head. */
type ScriptFor = (call: FakeCall) => Script | undefined | Promise<Script | undefined>

export interface FakeUpstream {
  /** Base URL for clients; ends in `/v1`. */
  readonly url: string
  readonly port: number
  /** The last calls, oldest first. */
  readonly calls: readonly FakeCall[]
  stats(): FakeStats
  /** Resolves with the next call whose request has been read. */
  next(): Promise<FakeCall>
  /** Sets the scripts of later calls; without an argument, removes them. */
  script(decide?: ScriptFor, options?: { readonly at: 'head' | 'body' }): void
  /** Closes every connection, then the server. */
  close(): Promise<void>
}

export async function startFakeUpstream(options: FakeOptions = {}): Promise<FakeUpstream> {
  const { clock = systemClock } = options
  const record = new CallLog(options.maxCalls ?? 256, () => clock.now())
  const bench = createBenchAnswer(options.bench ?? { tokens: 20, betweenMs: 0 }, clock)
  let decide: { readonly by: ScriptFor; readonly at: 'head' | 'body' } | undefined

  const server = createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
    const call = record.begin(req)
    const disconnect = new AbortController()
    res.once('close', () => {
      record.end(call, res.writableFinished)
      disconnect.abort()
    })
    serve(req, res, call, disconnect.signal).then(
      () => record.end(call, true),
      () => {
        record.end(call, false)
        res.destroy()
      },
    )
  })
  server.on('connection', (socket) => {
    record.sockets++
    socket.once('close', () => record.sockets--)
  })

  async function serve(req: IncomingMessage, res: ServerResponse, call: FakeCall, signal: AbortSignal): Promise<void> {
    try {
      authorize(call)
      call.script = await scriptFromHeaders(call)
      const early = call.script?.early === true
      const body = early ? empty : await readBody(req)
      if (isBench(req, body)) return await sendBench(res, body, bench, call, record)
      call.rawBody = body.toString('utf8', 0, maxStoredBodyBytes)
      if (decide?.at === 'body') call.script = (await decide.by(call)) ?? call.script
      const reply = route(call, body.toString('utf8'))
      record.notifyRead(call)
      await send(res, call.script?.gzip === undefined ? reply : gzipReply(reply), call.script ?? {}, {
        signal,
        clock,
        onSent(sent) {
          record.emit(call, sent.tokens)
          if (sent.event) call.events++
        },
      })
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error
      record.notifyRead(call)
      sendError(res, error)
    }
  }

  function authorize({ headers }: FakeCall): void {
    if (options.key === undefined || headers.authorization === `Bearer ${options.key}`) return
    throw new BadRequest('Incorrect API key provided.', { status: 401, code: 'invalid_api_key' })
  }

  async function scriptFromHeaders(call: FakeCall): Promise<Script | null> {
    const header = call.headers['x-demo-script']
    if (options.faults === true && typeof header === 'string') return parseScript(header)
    return (decide?.at === 'head' ? await decide.by(call) : undefined) ?? null
  }

  function route(call: FakeCall, body: string): Reply {
    const path = call.path.replace(/\?.*$/, '')
    if (call.method === 'POST' && path === '/v1/chat/completions') return chat(call, body)
    const scripted = toScriptedReply(call)
    if (scripted !== null) return scripted
    if (call.method === 'POST' && path === '/v1/images/generations')
      return jsonReply(createImages(body, Math.floor(clock.now() / 1000)))
    if (call.method === 'POST' && path === '/v1/embeddings') return jsonReply(createEmbeddings(body))
    if (call.method === 'GET' && path === '/v1/models') return jsonReply({ object: 'list', data: models.map(toModel) })
    const id = models.find((id) => path === `/v1/models/${id}`)
    if (call.method === 'GET' && id !== undefined) return jsonReply(toModel(id))
    throw new BadRequest(`Invalid URL (${call.method} ${path})`, { status: 404, code: 'unknown_url' })
  }

  function chat(call: FakeCall, body: string): Reply {
    // A scripted replacement needs no valid request, and one sent early has none.
    const scripted = toScriptedReply(call)
    if (scripted !== null) return scripted
    const request = parseChat(body)
    call.model = request.model
    call.stream = request.stream === true
    call.script ??= scriptFromMessage(getLastUserText(request))
    const reply = toScriptedReply(call)
    if (reply !== null) return reply
    if (!models.some((id) => id === request.model)) {
      throw new BadRequest(`The model '${request.model}' does not exist.`, {
        status: 404,
        code: 'model_not_found',
        param: 'model',
      })
    }
    const script = call.script ?? {}
    const frame = {
      id: `chatcmpl-demo-${record.requests}`,
      created: Math.floor(clock.now() / 1000),
      model: request.model,
      n: request.n ?? 1,
      includeUsage: request.stream_options?.include_usage === true,
      pace: options.pace ?? { ttftMs: 0, betweenMs: 0 },
    }
    return (call.stream && script.whole === undefined ? streamReply : completionReply)(
      createScriptedAnswer(request, script),
      frame,
      script,
    )
  }

  function toScriptedReply({ script }: FakeCall): Reply | null {
    return script === null ? null : scriptedReply(script)
  }

  function scriptFromMessage(text: string): Script | null {
    const json = options.scripted === true ? /^\s*demo:([^]*)$/.exec(text)?.[1] : undefined
    return json === undefined ? null : parseScript(json)
  }

  server.listen(options.port ?? 0, options.host ?? '127.0.0.1')
  await once(server, 'listening')
  const { address, port, family } = server.address() as AddressInfo
  const host = family === 'IPv6' ? `[${address}]` : address

  return {
    url: `http://${host}:${port}/v1`,
    port,
    calls: record.calls,
    stats: () => record.stats(),
    next: () => record.next(),
    script(by, { at } = { at: 'body' }) {
      decide = by === undefined ? undefined : { by, at }
    },
    async close() {
      server.close()
      server.closeAllConnections()
      if (server.listening) await once(server, 'close')
    },
  }
}

function createScriptedAnswer(request: ChatRequest, { text, tokens, ignoreCap }: Script): DemoAnswer {
  const plain = { toolCall: null, images: [], search: null }
  const content = text === undefined ? composeContent(request) : { ...plain, text }
  const all = tokens === undefined ? toTokens(content.text) : repeatToken(tokens)
  return limitAnswer(request, content, all, ignoreCap === true ? Number.POSITIVE_INFINITY : undefined)
}

function repeatToken(length: number): string[] {
  return Array.from({ length }, (_, index) => (index === 0 ? 'token' : ' token'))
}

const maxBodyBytes = 64 * 1024 * 1024
const maxStoredBodyBytes = 1024 * 1024

const empty = Buffer.alloc(0)

/** The whole body. @throws BadRequest if it is longer than any test needs */
function readBody(req: IncomingMessage): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const pieces: Buffer[] = []
  let size = 0
  // Listeners instead of an iterator, because this is a large part of a benchmark call's cost.
  req.on('data', (piece: Buffer) => {
    size += piece.length
    if (size <= maxBodyBytes) pieces.push(piece)
    else reject(new BadRequest('The body of the request is too large.', { status: 413, code: 'too_large' }))
  })
  req.on('end', () => resolve(pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)))
  req.on('error', reject)
  return promise
}

/** Searches the bytes, because parsing the request would be most of such a call's cost. */
function isBench(req: IncomingMessage, body: Buffer): boolean {
  return req.method === 'POST' && (body.includes('"demo-bench"') || body.includes(benchWhole))
}

/** Answers whole, even if a stream was requested. */
const benchWhole = '"demo-bench-whole"'

async function sendBench(res: ServerResponse, body: Buffer, bench: BenchAnswer, call: FakeCall, record: CallLog): Promise<void> {
  const isWhole = body.includes(benchWhole)
  call.model = isWhole ? 'demo-bench-whole' : 'demo-bench'
  call.stream = !isWhole && /"stream"\s*:\s*true/.test(body.toString('latin1'))
  record.notifyRead(call)
  if (call.stream) return bench.stream(res, (tokens) => record.emit(call, tokens))
  record.emit(call, bench.tokens)
  bench.whole(res)
}

function sendError(res: ServerResponse, error: BadRequest): void {
  // The request may not have been read to its end.
  res.writeHead(error.status, { 'content-type': 'application/json', connection: 'close' })
  res.end(JSON.stringify(toErrorBody(error)))
}

function toErrorBody({ message, code, param, status }: BadRequest): object {
  return { error: { message, type: status === 401 ? 'authentication_error' : 'invalid_request_error', param, code } }
}
