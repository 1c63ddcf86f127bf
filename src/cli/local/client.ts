/** The workbench's socket from the command's side: connecting, greeting, calling, hearing events; and what its errors are to `svc`. */
import { lstat, readFile, stat } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { connect as connectSocket } from 'node:net'
import { dirname } from 'node:path'
import type { CommandFailureDetails } from '../failure.ts'
import { CommandFailure } from '../failure.ts'
import type { ExitName } from '../exit-code.ts'
import type { ErrorCode, Method, WorkbenchEvent } from '../workbench/protocol.ts'
import { protocolRange } from '../workbench/protocol.ts'
import type { Focus, Hello, Results } from '../workbench/results.ts'
import type { ParamsOf } from '../workbench/params.ts'

export interface ConnectOptions {
  readonly socketPath: string
  /** The file that holds the secret of the workbench's present start. */
  readonly tokenPath: string
  readonly platform: NodeJS.Platform
  readonly version: string
  /** The pane this command runs in, if it is one of the workbench's. */
  readonly caller: Focus | null
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** A connection that has been greeted. */
export interface WorkbenchClient {
  call<M extends Method>(method: M, params: ParamsOf<M>, timeoutMs?: number): Promise<Results[M]>
  /** For what is not typed here: `svc rpc`. */
  callAny(method: string, params: unknown, timeoutMs?: number): Promise<unknown>
  onEvent(listener: (event: WorkbenchEvent) => void): void
  /** Settles when the workbench has closed the connection. */
  readonly closed: Promise<void>
  /** What the workbench said of itself. */
  readonly hello: Hello
  close(): void
}

/** Nobody listens on the socket: the one failure that starting the workbench can mend. */
export class NotRunning extends Error {}

/** Connects and greets. Throws `NotRunning`, or `CommandFailure` for everything that starting would not mend. */
export async function connectWorkbench(options: ConnectOptions): Promise<WorkbenchClient> {
  const { socketPath, platform, version, caller } = options
  if (platform !== 'win32') await refuseUnsafe(socketPath)
  const token = await readFile(options.tokenPath, 'utf8').catch((cause: unknown) => {
    throw new NotRunning('no token', { cause })
  })
  const socket = await open(socketPath)
  const client = new SocketClient(socket, options)
  const hello = { protocol: protocolRange, token: token.trim(), client: { name: 'svc', version } }
  try {
    client.greet(await client.call('system.hello', caller ? { ...hello, caller } : hello))
  } catch (error) {
    client.close()
    throw error
  }
  return client
}

export function unreachable(reason: string, cause?: unknown): CommandFailure {
  const text = { en: `the workbench is not reachable: ${reason}`, zh: `无法连接工作台:${reason}` }
  return new CommandFailure('workbench_unreachable', text, {
    exit: 'workbench',
    hints: ['svc workbench start · svc workbench doctor'],
    cause,
  })
}

interface Message {
  readonly id?: number | null
  readonly method?: string
  readonly params?: { readonly event: WorkbenchEvent }
  readonly result?: unknown
  readonly error?: RemoteError
}

interface RemoteError {
  readonly message: string
  readonly data?: { readonly code?: string; readonly hint?: string; readonly details?: Readonly<Record<string, unknown>> }
}

class SocketClient implements WorkbenchClient {
  readonly closed: Promise<void>
  readonly #socket: Socket
  readonly #timeoutMs: number
  readonly #waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>()
  readonly #listeners: ((event: WorkbenchEvent) => void)[] = []
  #next = 1
  #rest = ''
  /** What the workbench said about the connection as a whole before it closed it. */
  #farewell: CommandFailure | undefined
  #hello: Hello | undefined

  constructor(socket: Socket, options: ConnectOptions) {
    this.#socket = socket
    this.#timeoutMs = options.timeoutMs
    const closed = Promise.withResolvers<void>()
    this.closed = closed.promise
    const interrupt = (): void => {
      socket.destroy()
    }
    options.signal.addEventListener('abort', interrupt, { once: true })
    socket
      .setEncoding('utf8')
      .on('data', (text: string) => this.#read(text))
      .on('error', () => undefined)
      .on('close', () => {
        options.signal.removeEventListener('abort', interrupt)
        const error = this.#farewell ?? unreachable('the workbench has closed the connection')
        for (const waiting of this.#waiting.values()) waiting.reject(error)
        this.#waiting.clear()
        closed.resolve()
      })
  }

  call<M extends Method>(method: M, params: ParamsOf<M>, timeoutMs?: number): Promise<Results[M]> {
    return this.callAny(method, params, timeoutMs) as Promise<Results[M]>
  }

  callAny(method: string, params: unknown, timeoutMs = this.#timeoutMs): Promise<unknown> {
    if (this.#socket.destroyed) return Promise.reject(this.#farewell ?? unreachable('the workbench has closed the connection'))
    const id = this.#next
    this.#next += 1
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const timer = setTimeout(() => {
      this.#waiting.delete(id)
      reject(
        new CommandFailure('timeout', { en: `no answer to ${method} in time`, zh: `${method} 等待超时` }, { exit: 'timeout' }),
      )
    }, timeoutMs)
    const done = (): void => clearTimeout(timer)
    this.#waiting.set(id, {
      resolve: (result) => {
        done()
        resolve(result)
      },
      reject: (error) => {
        done()
        reject(error)
      },
    })
    this.#socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    return promise
  }

  get hello(): Hello {
    if (!this.#hello) throw new TypeError('the workbench has not been greeted')
    return this.#hello
  }

  greet(hello: Hello): void {
    this.#hello = hello
  }

  onEvent(listener: (event: WorkbenchEvent) => void): void {
    this.#listeners.push(listener)
  }

  close(): void {
    this.#socket.destroy()
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#take(JSON.parse(line) as Message)
  }

  #take(message: Message): void {
    if (message.method === 'event' && message.params) {
      for (const listener of this.#listeners) listener(message.params.event)
      return
    }
    if (message.id === null && message.error) {
      this.#farewell = toFailure(message.error)
      return
    }
    const waiting = this.#waiting.get(message.id ?? -1)
    this.#waiting.delete(message.id ?? -1)
    if (message.error) waiting?.reject(toFailure(message.error))
    else waiting?.resolve(message.result)
  }
}

const exitOf: Readonly<Partial<Record<ErrorCode, ExitName>>> = {
  not_found: 'notFound',
  timeout: 'timeout',
  invalid_params: 'usage',
  method_not_found: 'usage',
  unauthorized: 'workbench',
  hello_required: 'workbench',
  unsupported_protocol: 'workbench',
  shutting_down: 'workbench',
  busy: 'tryAgain',
}

function toFailure(error: RemoteError): CommandFailure {
  const code = error.data?.code ?? 'internal_error'
  const exit = exitOf[code as ErrorCode]
  const details: CommandFailureDetails = {
    ...(exit === undefined ? {} : { exit }),
    ...(error.data?.hint === undefined ? {} : { hints: [error.data.hint] }),
    ...(error.data?.details === undefined ? {} : { details: error.data.details }),
  }
  return new CommandFailure(code, error.message, details)
}

/** A socket that someone else could have put there is not spoken to: the token would be theirs. */
async function refuseUnsafe(socketPath: string): Promise<void> {
  const facts = await lstat(socketPath).catch((cause: unknown) => {
    throw new NotRunning('no socket', { cause })
  })
  const folder = await stat(dirname(socketPath))
  const me = process.getuid?.()
  const problem = !facts.isSocket()
    ? 'it is not a socket'
    : facts.uid !== me || folder.uid !== me
      ? 'it belongs to someone else'
      : (folder.mode & 0o022) !== 0
        ? 'others may write in its directory'
        : undefined
  if (problem === undefined) return
  const text = { en: `${socketPath} is not safe to use: ${problem}`, zh: `${socketPath} 不安全,拒绝使用` }
  throw new CommandFailure('unsafe_socket', text, { exit: 'workbench' })
}

function open(socketPath: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectSocket(socketPath)
    socket.once('connect', () => {
      socket.removeAllListeners('error')
      resolve(socket)
    })
    socket.once('error', (cause: NodeJS.ErrnoException) => {
      const missing = cause.code === 'ECONNREFUSED' || cause.code === 'ENOENT'
      reject(missing ? new NotRunning('nobody listens', { cause }) : unreachable(cause.message, cause))
    })
  })
}
