/** JSON-RPC on the socket: one line a message, a greeting first, limits on everything that a client could pile up. */
import { timingSafeEqual } from 'node:crypto'
import type { Server, Socket } from 'node:net'
import type { Events } from './events.ts'
import type { Peer } from './handler.ts'
import { LineReader } from './lines.ts'
import type { ParamsOf } from './params.ts'
import { params } from './params.ts'
import type { EventName, Id, Method, RpcReply } from './protocol.ts'
import { errorNumbers, limits, protocolRange, WorkbenchError } from './protocol.ts'
import type { Focus, Hello } from './results.ts'

export interface RpcServerOptions {
  readonly token: string
  readonly events: Events
  readonly hello: () => Promise<Omit<Hello, 'protocol'>>
  /** Runs a method whose parameters have been checked. */
  readonly handle: (
    method: Method,
    params: unknown,
    call: { requestId: Id; caller: Focus | null; peer: Peer },
  ) => Promise<unknown>
  readonly now: () => number
  readonly newId: (prefix: string) => string
  /** One line per request: never parameters, which may hold what the user typed. */
  readonly log: (entry: { readonly method: string; readonly ms: number; readonly code: string; readonly cause?: unknown }) => void
  /** Overrides of the limits, for tests. */
  readonly helloMs?: number
}

/**
 * Speaks the protocol with every client of the socket. Whatever a client sends, the answer is an answer or the end of its own
 * connection; the host goes on.
 */
export function serveRpc(server: Server, options: RpcServerOptions): { closeAll: () => void } {
  const connections = new Set<Connection>()
  server.on('connection', (socket) => {
    const connection = new Connection(socket, options, () => connections.delete(connection))
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

/** How long a client has to read why it is sent away. */
const lastWordMs = 5_000

/** Replies not yet read by the client beyond this end the connection: it has stopped reading. */
const mostUnreadBytes = 2 * limits.replyBytes

class Connection implements Peer {
  readonly #socket: Socket
  readonly #options: RpcServerOptions
  readonly #subscriptions = new Set<string>()
  readonly #helloTimer: NodeJS.Timeout
  #caller: Focus | null = null
  #greeted = false
  #inFlight = 0
  /** Events written to a socket that has not drained since. */
  #behind = 0
  #ended = false

  constructor(socket: Socket, options: RpcServerOptions, onClose: () => void) {
    this.#socket = socket
    this.#options = options
    const lines = new LineReader(
      limits.requestBytes,
      (line) => this.#take(line),
      (problem) =>
        problem === 'too_long'
          ? this.refuse(null, new WorkbenchError('invalid_request', `a request is at most ${limits.requestBytes} bytes`))
          : this.#fail(null, new WorkbenchError('parse_error', 'the line is not UTF-8')),
    )
    this.#helloTimer = setTimeout(
      () => this.refuse(null, new WorkbenchError('hello_required', 'no system.hello in time')),
      options.helloMs ?? limits.helloMs,
    )
    socket
      .on('data', (chunk: Buffer) => {
        if (!this.#ended) lines.push(chunk)
      })
      .on('drain', () => {
        this.#behind = 0
      })
      .on('error', () => undefined)
      .on('close', () => {
        clearTimeout(this.#helloTimer)
        for (const id of this.#subscriptions) options.events.unsubscribe(id)
        onClose()
      })
  }

  /** Answers with the error and closes: for a client that cannot be talked to any further. */
  refuse(id: Id, error: WorkbenchError): void {
    this.#fail(id, error)
    this.end()
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#helloTimer)
    this.#socket.end()
    // A client that never reads its last answer must not keep the connection.
    setTimeout(() => this.#socket.destroy(), lastWordMs).unref()
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
    // After the answer, so that the client knows its subscription before the first event.
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

  #take(line: string): void {
    if (this.#ended) return
    let message: unknown
    try {
      message = JSON.parse(line)
    } catch {
      this.#deny(null, new WorkbenchError('parse_error', 'the line is not JSON'))
      return
    }
    const request = asRequest(message)
    if (request instanceof WorkbenchError) this.#deny(idOf(message), request)
    else void this.#answer(request)
  }

  async #answer(request: Request): Promise<void> {
    const startedAt = this.#options.now()
    const log = (code: string, cause?: unknown): void =>
      this.#options.log({ method: request.method.slice(0, 64), ms: this.#options.now() - startedAt, code, cause })
    try {
      if (this.#inFlight >= limits.inFlight) throw new WorkbenchError('busy', `at most ${limits.inFlight} requests at once`)
      this.#inFlight += 1
      try {
        const result = await this.#run(request)
        if (request.id !== undefined) this.#reply({ jsonrpc: '2.0', id: request.id, result })
      } finally {
        this.#inFlight -= 1
      }
      log('ok')
    } catch (cause) {
      const error =
        cause instanceof WorkbenchError ? cause : new WorkbenchError('internal_error', 'the workbench failed; see its log')
      log(error.code, error === cause ? undefined : cause)
      this.#deny(request.id ?? null, error)
    }
  }

  async #run(request: Request): Promise<unknown> {
    const { method } = request
    if (method === 'system.hello') return this.#hello(checked('system.hello', request.params))
    if (method === 'system.ping') return { pong: true, ...checked('system.ping', request.params) }
    if (!this.#greeted) throw new WorkbenchError('hello_required', 'the first request must be system.hello')
    if (!isMethod(method)) throw new WorkbenchError('method_not_found', `no method ${method.slice(0, 64)}`)
    const call = { requestId: request.id ?? null, caller: this.#caller, peer: this }
    return this.#options.handle(method, checked(method, request.params), call)
  }

  async #hello(hello: ParamsOf<'system.hello'>): Promise<Hello> {
    if (!sameSecret(hello.token, this.#options.token)) {
      throw new WorkbenchError('unauthorized', 'the token is not the one of this workbench', {
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

  /** Before the hello every error ends the connection, after having been told. */
  #deny(id: Id, error: WorkbenchError): void {
    if (this.#greeted) this.#fail(id, error)
    else this.refuse(id, error)
  }

  #fail(id: Id, error: WorkbenchError): void {
    const { code, details, hint } = error
    const data = { code, ...(details === undefined ? {} : { details }), ...(hint === undefined ? {} : { hint }) }
    this.#reply({ jsonrpc: '2.0', id, error: { code: errorNumbers[code], message: error.message, data } })
  }

  #reply(reply: RpcReply): void {
    const line = JSON.stringify(reply)
    if (Buffer.byteLength(line) > limits.replyBytes) {
      this.#fail(reply.id, new WorkbenchError('internal_error', `the answer is larger than ${limits.replyBytes} bytes`))
      return
    }
    this.#write(`${line}\n`)
  }

  #notify(message: unknown): void {
    if (this.#ended) return
    if (this.#behind >= limits.eventRing) {
      for (const id of this.#subscriptions) this.unsubscribe(id)
      this.#options.log({ method: 'event', ms: 0, code: 'slow_consumer' })
      this.refuse(null, new WorkbenchError('slow_consumer', `${limits.eventRing} events were not read`))
      return
    }
    this.#behind = this.#write(`${JSON.stringify(message)}\n`) ? 0 : this.#behind + 1
  }

  #write(text: string): boolean {
    if (this.#socket.destroyed || this.#socket.writableEnded) return true
    if (this.#socket.writableLength > mostUnreadBytes) {
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

function asRequest(message: unknown): Request | WorkbenchError {
  if (Array.isArray(message)) return new WorkbenchError('invalid_request', 'batches are not served: one request a line')
  if (typeof message !== 'object' || message === null) return new WorkbenchError('invalid_request', 'a request is a JSON object')
  const { jsonrpc, id, method, params } = message as Readonly<Record<string, unknown>>
  if (jsonrpc !== '2.0') return new WorkbenchError('invalid_request', 'jsonrpc must be "2.0"')
  if (typeof method !== 'string') return new WorkbenchError('invalid_request', 'method must be a string')
  if (id !== undefined && id !== null && typeof id !== 'string' && typeof id !== 'number') {
    return new WorkbenchError('invalid_request', 'id must be a string, a number or null')
  }
  return { id, method, params: params ?? {} }
}

function idOf(message: unknown): Id {
  const id = typeof message === 'object' && message !== null && 'id' in message ? message.id : null
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

function isMethod(method: string): method is Method {
  return Object.hasOwn(params, method)
}

function checked<M extends Method>(method: M, value: unknown): ParamsOf<M> {
  const outcome = params[method].safeParse(value)
  if (outcome.success) return outcome.data as ParamsOf<M>
  const issues = outcome.error.issues.map((issue) => ({ path: issue.path.join('.'), message: issue.message }))
  const [first] = issues
  const where = first?.path ? `${first.path}: ` : ''
  throw new WorkbenchError('invalid_params', `${method}: ${where}${first?.message ?? 'invalid'}`, { details: { issues } })
}

/** Compares in a time that does not tell how much was right. */
function sameSecret(given: string, secret: string): boolean {
  const a = Buffer.from(given)
  const b = Buffer.from(secret)
  return a.length === b.length && timingSafeEqual(a, b)
}
