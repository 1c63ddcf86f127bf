/** JSON-RPC on the socket: one message per line, a hello first, limits on everything that a client could accumulate. */
import { timingSafeEqual } from 'node:crypto'
import type { Server, Socket } from 'node:net'
import type { EventLog } from '../event-log.ts'
import type { Peer } from '../methods/handler.ts'
import { LineReader } from './line-reader.ts'
import type { ParamsOf } from '../protocol/methods.ts'
import { methods } from '../protocol/methods.ts'
import type { EventName, Id, RpcReply } from '../protocol/protocol.ts'
import type { Method } from '../protocol/methods.ts'
import { errorNumbers, limits, protocolRange, WorkbenchError } from '../protocol/protocol.ts'
import type { Focus, Hello } from '../protocol/results.ts'
import { parseJson } from '../../../system/parse-json.ts'

interface RpcServerOptions {
  readonly token: string
  readonly events: EventLog
  readonly hello: () => Promise<Omit<Hello, 'protocol'>>
  /** Runs a method with checked parameters. */
  readonly handle: (
    method: Method,
    params: unknown,
    call: { requestId: Id; caller: Focus | null; peer: Peer },
  ) => Promise<unknown>
  readonly now: () => number
  readonly newId: (prefix: string) => string
  /** Logs one line per request, never parameters, which may hold typed text. */
  readonly log: (entry: { readonly method: string; readonly ms: number; readonly code: string; readonly cause?: unknown }) => void
  /** Overrides of the limits, for tests. */
  readonly helloTimeoutMs?: number
}

/**
 * Serves the protocol to every client of the socket. No input of a client does more than fail its request or end its own
 * connection; the host continues.
 */
export function serveRpc(server: Server, options: RpcServerOptions): { closeAll: () => void } {
  const connections = new Set<RpcConnection>()
  server.on('connection', (socket) => {
    const connection = new RpcConnection(socket, options, () => connections.delete(connection))
    connections.add(connection)
    if (connections.size > limits.connections) {
      connection.refuse(null, new WorkbenchError('busy', `at most ${limits.connections} connections`))
    }
  })
  return {
    closeAll: () => {
      for (const connection of connections) connection.end()
    },
  }
}

/** Time for a client to read the reason before it is disconnected. */
const closeGraceMs = 5_000

/** Unread reply bytes beyond which the connection ends, because the client has stopped reading. */
const maxUnreadBytes = 2 * limits.replyBytes

class RpcConnection implements Peer {
  readonly #socket: Socket
  readonly #options: RpcServerOptions
  readonly #subscriptions = new Set<string>()
  readonly #helloTimer: NodeJS.Timeout
  #caller: Focus | null = null
  #greeted = false
  #inFlight = 0
  /** Events written since the socket last drained. */
  #undrainedEvents = 0
  #ended = false

  constructor(socket: Socket, options: RpcServerOptions, onClose: () => void) {
    this.#socket = socket
    this.#options = options
    const lines = new LineReader(
      limits.requestBytes,
      (line) => this.#receiveLine(line),
      (problem) =>
        problem === 'too_long'
          ? this.refuse(null, new WorkbenchError('invalid_request', `a request is at most ${limits.requestBytes} bytes`))
          : this.#sendError(null, new WorkbenchError('parse_error', 'the line is not UTF-8')),
    )
    this.#helloTimer = setTimeout(
      () => this.refuse(null, new WorkbenchError('hello_required', 'no system.hello in time')),
      options.helloTimeoutMs ?? limits.helloMs,
    )
    socket
      .on('data', (chunk: Buffer) => {
        if (!this.#ended) lines.push(chunk)
      })
      .on('drain', () => {
        this.#undrainedEvents = 0
      })
      .on('error', () => undefined)
      .on('close', () => {
        clearTimeout(this.#helloTimer)
        for (const id of this.#subscriptions) options.events.unsubscribe(id)
        onClose()
      })
  }

  /** Sends the error and closes the connection of a client that cannot be served any further. */
  refuse(id: Id, error: WorkbenchError): void {
    this.#sendError(id, error)
    this.end()
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#helloTimer)
    this.#socket.end()
    // A client that never reads its last answer must not keep the connection.
    setTimeout(() => this.#socket.destroy(), closeGraceMs).unref()
  }

  subscribe(names: readonly EventName[] | undefined, after: number | undefined): { id: string; gap: boolean } {
    const { events, newId } = this.#options
    const id = newId('sub')
    this.#subscriptions.add(id)
    const { gap, replay } = events.subscribe(
      {
        id,
        names: names ? new Set(names) : null,
        deliver: (event) => this.#notify({ jsonrpc: '2.0', method: 'event', params: { subscriptionId: id, event } }),
      },
      after,
    )
    // After the answer, so that the client has its subscription before the first event.
    setImmediate(() => {
      if (this.#subscriptions.has(id)) replay()
    })
    return { id, gap }
  }

  unsubscribe(id: string): boolean {
    if (!this.#subscriptions.delete(id)) return false
    this.#options.events.unsubscribe(id)
    return true
  }

  #receiveLine(line: string): void {
    if (this.#ended) return
    let message: unknown
    try {
      message = parseJson(line)
    } catch {
      this.#rejectRequest(null, new WorkbenchError('parse_error', 'the line is not JSON'))
      return
    }
    const request = parseRequest(message)
    if (request instanceof WorkbenchError) this.#rejectRequest(getRequestId(message), request)
    else void this.#handleRequest(request)
  }

  async #handleRequest(request: Request): Promise<void> {
    const startedAt = this.#options.now()
    const log = (code: string, cause?: unknown): void =>
      this.#options.log({ method: request.method.slice(0, 64), ms: this.#options.now() - startedAt, code, cause })
    try {
      if (this.#inFlight >= limits.inFlight) throw new WorkbenchError('busy', `at most ${limits.inFlight} requests at once`)
      this.#inFlight += 1
      try {
        const result = await this.#runMethod(request)
        if (request.id !== undefined) this.#sendReply({ jsonrpc: '2.0', id: request.id, result })
      } finally {
        this.#inFlight -= 1
      }
      log('ok')
    } catch (cause) {
      const error =
        cause instanceof WorkbenchError ? cause : new WorkbenchError('internal_error', 'the workbench failed; see its log')
      log(error.code, error === cause ? undefined : cause)
      this.#rejectRequest(request.id ?? null, error)
    }
  }

  async #runMethod(request: Request): Promise<unknown> {
    const { method } = request
    if (method === 'system.hello') return this.#greet(validateParams('system.hello', request.params))
    if (method === 'system.ping') return { pong: true, ...validateParams('system.ping', request.params) }
    if (!this.#greeted) throw new WorkbenchError('hello_required', 'the first request must be system.hello')
    if (!isMethod(method)) throw new WorkbenchError('method_not_found', `no method ${method.slice(0, 64)}`)
    const call = { requestId: request.id ?? null, caller: this.#caller, peer: this }
    return this.#options.handle(method, validateParams(method, request.params), call)
  }

  async #greet(hello: ParamsOf<'system.hello'>): Promise<Hello> {
    if (!isSameSecret(hello.token, this.#options.token)) {
      throw new WorkbenchError('unauthorized', 'the token does not belong to this workbench', {
        hint: 'it is in workbench.token beside the socket',
      })
    }
    if (hello.protocol.min > protocolRange.max || hello.protocol.max < protocolRange.min) {
      throw new WorkbenchError('unsupported_protocol', 'there is no common version of the protocol', {
        details: { host: protocolRange, client: hello.protocol },
        hint: 'svc workbench stop, so that the newer version is started',
      })
    }
    this.#greeted = true
    this.#caller = hello.caller ?? null
    clearTimeout(this.#helloTimer)
    return { protocol: Math.min(hello.protocol.max, protocolRange.max), ...(await this.#options.hello()) }
  }

  /** Before the hello every error is sent and ends the connection. */
  #rejectRequest(id: Id, error: WorkbenchError): void {
    if (this.#greeted) this.#sendError(id, error)
    else this.refuse(id, error)
  }

  #sendError(id: Id, error: WorkbenchError): void {
    const { code, details, hint } = error
    const data = { code, ...(details === undefined ? {} : { details }), ...(hint === undefined ? {} : { hint }) }
    this.#sendReply({ jsonrpc: '2.0', id, error: { code: errorNumbers[code], message: error.message, data } })
  }

  #sendReply(reply: RpcReply): void {
    const line = JSON.stringify(reply)
    if (Buffer.byteLength(line) > limits.replyBytes) {
      this.#sendError(reply.id, new WorkbenchError('internal_error', `the answer is larger than ${limits.replyBytes} bytes`))
      return
    }
    this.#write(`${line}\n`)
  }

  #notify(message: unknown): void {
    if (this.#ended) return
    if (this.#undrainedEvents >= limits.eventRing) {
      for (const id of this.#subscriptions) this.unsubscribe(id)
      this.#options.log({ method: 'event', ms: 0, code: 'slow_consumer' })
      this.refuse(null, new WorkbenchError('slow_consumer', `${limits.eventRing} events were not read`))
      return
    }
    this.#undrainedEvents = this.#write(`${JSON.stringify(message)}\n`) ? 0 : this.#undrainedEvents + 1
  }

  #write(text: string): boolean {
    if (this.#socket.destroyed || this.#socket.writableEnded) return true
    if (this.#socket.writableLength > maxUnreadBytes) {
      this.#socket.destroy()
      return true
    }
    return this.#socket.write(text)
  }
}

interface Request {
  readonly id: Id | undefined
  readonly method: string
  readonly params: unknown
}

function parseRequest(message: unknown): Request | WorkbenchError {
  if (Array.isArray(message)) return new WorkbenchError('invalid_request', 'batches are not supported: send one request per line')
  if (typeof message !== 'object' || message === null) return new WorkbenchError('invalid_request', 'a request is a JSON object')
  const { jsonrpc, id, method, params } = message as Readonly<Record<string, unknown>>
  if (jsonrpc !== '2.0') return new WorkbenchError('invalid_request', 'jsonrpc must be "2.0"')
  if (typeof method !== 'string') return new WorkbenchError('invalid_request', 'method must be a string')
  if (id !== undefined && id !== null && typeof id !== 'string' && typeof id !== 'number') {
    return new WorkbenchError('invalid_request', 'id must be a string, a number or null')
  }
  return { id, method, params: params ?? {} }
}

function getRequestId(message: unknown): Id {
  const id = typeof message === 'object' && message !== null && 'id' in message ? message.id : null
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

function isMethod(method: string): method is Method {
  return Object.hasOwn(methods, method)
}

function validateParams<M extends Method>(method: M, value: unknown): ParamsOf<M> {
  const outcome = methods[method].params.safeParse(value)
  if (outcome.success) return outcome.data as ParamsOf<M>
  const issues = outcome.error.issues.map((issue) => ({ path: issue.path.join('.'), message: issue.message }))
  const [first] = issues
  const where = first?.path ? `${first.path}: ` : ''
  throw new WorkbenchError('invalid_params', `${method}: ${where}${first?.message ?? 'invalid'}`, { details: { issues } })
}

/** Compares in constant time. */
function isSameSecret(candidate: string, secret: string): boolean {
  const a = Buffer.from(candidate)
  const b = Buffer.from(secret)
  return a.length === b.length && timingSafeEqual(a, b)
}
