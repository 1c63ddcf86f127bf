/** The client of the workbench's socket: connects, authenticates, calls methods, receives events, and maps errors to `CommandFailure`. */
import { lstat, readFile, stat } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { connect as connectSocket } from 'node:net'
import { dirname } from 'node:path'
import type { CommandFailureDetails } from '../../failure.ts'
import { CommandFailure } from '../../failure.ts'
import type { ExitName } from '../../exit-code.ts'
import type { ErrorCode, WorkbenchEvent } from '../../workbench/protocol/protocol.ts'
import type { Method } from '../../workbench/protocol/methods.ts'
import { protocolRange } from '../../workbench/protocol/protocol.ts'
import type { ResultOf } from '../../workbench/protocol/methods.ts'
import type { Focus, Hello } from '../../workbench/protocol/results.ts'
import type { ParamsOf } from '../../workbench/protocol/methods.ts'
import { parseJson } from '../../../system/parse-json.ts'

interface ConnectOptions {
  readonly socketPath: string
  /** The file that holds the token of the running workbench. */
  readonly tokenPath: string
  readonly platform: NodeJS.Platform
  readonly version: string
  /** The pane this command runs in, if it belongs to the workbench. */
  readonly caller: Focus | null
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** An authenticated connection. */
export interface WorkbenchClient {
  call<M extends Method>(method: M, params: ParamsOf<M>, timeoutMs?: number): Promise<ResultOf<M>>
  /** Calls a method without types: `svc rpc`. */
  callUntyped(method: string, params: unknown, timeoutMs?: number): Promise<unknown>
  onEvent(listener: (event: WorkbenchEvent) => void): void
  /** Settles when the workbench has closed the connection. */
  readonly closed: Promise<void>
  /** The workbench's answer to hello. */
  readonly hello: Hello
  close(): void
}

/** No workbench listens on the socket: the only failure that starting it resolves. */
export class NotRunningError extends Error {}

/** Connects and authenticates. Throws `NotRunning`, or `CommandFailure` for everything that a start would not resolve. */
export async function connectWorkbench(options: ConnectOptions): Promise<WorkbenchClient> {
  const { socketPath, platform, version, caller } = options
  if (platform !== 'win32') await assertSafeSocket(socketPath)
  const token = await readFile(options.tokenPath, 'utf8').catch((cause: unknown) => {
    throw new NotRunningError('no token', { cause })
  })
  const socket = await openSocket(socketPath)
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

export function createUnreachableFailure(reason: string, cause?: unknown): CommandFailure {
  const text = { en: `The workbench is not reachable: ${reason}`, zh: `无法连接工作台：${reason}` }
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
  readonly #pendingCalls = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>()
  readonly #listeners: ((event: WorkbenchEvent) => void)[] = []
  #nextId = 1
  #partialLine = ''
  /** The error that the workbench sent for the whole connection before it closed it. */
  #closeReason: CommandFailure | undefined
  #hello: Hello | undefined

  constructor(socket: Socket, options: ConnectOptions) {
    this.#socket = socket
    this.#timeoutMs = options.timeoutMs
    const closing = Promise.withResolvers<void>()
    this.closed = closing.promise
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
        const error = this.#closeReason ?? createUnreachableFailure('the workbench has closed the connection')
        for (const pendingCall of this.#pendingCalls.values()) pendingCall.reject(error)
        this.#pendingCalls.clear()
        closing.resolve()
      })
  }

  call<M extends Method>(method: M, params: ParamsOf<M>, timeoutMs?: number): Promise<ResultOf<M>> {
    return this.callUntyped(method, params, timeoutMs) as Promise<ResultOf<M>>
  }

  callUntyped(method: string, params: unknown, timeoutMs = this.#timeoutMs): Promise<unknown> {
    if (this.#socket.destroyed)
      return Promise.reject(this.#closeReason ?? createUnreachableFailure('the workbench has closed the connection'))
    const id = this.#nextId
    this.#nextId += 1
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const timer = setTimeout(() => {
      this.#pendingCalls.delete(id)
      reject(
        new CommandFailure(
          'timeout',
          { en: `The workbench did not answer ${method} in time.`, zh: `${method} 等待超时` },
          { exit: 'timeout' },
        ),
      )
    }, timeoutMs)
    const stopTimer = (): void => clearTimeout(timer)
    this.#pendingCalls.set(id, {
      resolve: (result) => {
        stopTimer()
        resolve(result)
      },
      reject: (error) => {
        stopTimer()
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
    const lines = (this.#partialLine + text).split('\n')
    this.#partialLine = lines.pop() ?? ''
    for (const line of lines) this.#dispatch(parseJson(line) as Message)
  }

  #dispatch(message: Message): void {
    if (message.method === 'event' && message.params) {
      for (const listener of this.#listeners) listener(message.params.event)
      return
    }
    if (message.id === null && message.error) {
      this.#closeReason = toCommandFailure(message.error)
      return
    }
    const pendingCall = this.#pendingCalls.get(message.id ?? -1)
    this.#pendingCalls.delete(message.id ?? -1)
    if (message.error) pendingCall?.reject(toCommandFailure(message.error))
    else pendingCall?.resolve(message.result)
  }
}

const exitsByErrorCode: Readonly<Partial<Record<ErrorCode, ExitName>>> = {
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

function toCommandFailure(error: RemoteError): CommandFailure {
  const code = error.data?.code ?? 'internal_error'
  const exit = exitsByErrorCode[code as ErrorCode]
  const details: CommandFailureDetails = {
    ...(exit === undefined ? {} : { exit }),
    ...(error.data?.hint === undefined ? {} : { hints: [error.data.hint] }),
    ...(error.data?.details === undefined ? {} : { details: error.data.details }),
  }
  return new CommandFailure(code, toSentence(error.message), details)
}

/** Names of programs, which keep their small letter. */
const programNames: ReadonlySet<string> = new Set(['npm', 'sftp', 'ssh', 'svc', 'tmux'])

/** The workbench's messages are fragments, and people read sentences. A value after a colon stays as it can be copied. */
function toSentence(message: string): string {
  const [, word = ''] = /^([a-z]+) /.exec(message) ?? []
  const capitalizedText = word === '' || programNames.has(word) ? message : message.charAt(0).toUpperCase() + message.slice(1)
  return /[a-z0-9]$/.test(capitalizedText) && !capitalizedText.includes(': ') ? `${capitalizedText}.` : capitalizedText
}

/** Refuses a socket that another user could have created, because that user would receive the token. */
async function assertSafeSocket(socketPath: string): Promise<void> {
  const facts = await lstat(socketPath).catch((cause: unknown) => {
    throw new NotRunningError('no socket', { cause })
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
  const text = { en: `${socketPath} is not safe to use: ${problem}`, zh: `${socketPath} 不安全，拒绝使用` }
  throw new CommandFailure('unsafe_socket', text, { exit: 'workbench' })
}

function openSocket(socketPath: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectSocket(socketPath)
    socket.once('connect', () => {
      socket.removeAllListeners('error')
      resolve(socket)
    })
    socket.once('error', (cause: NodeJS.ErrnoException) => {
      const missing = cause.code === 'ECONNREFUSED' || cause.code === 'ENOENT'
      reject(missing ? new NotRunningError('no workbench listens', { cause }) : createUnreachableFailure(cause.message, cause))
    })
  })
}
