/**
 * Remote procedure calls between two threads over a message port: each side registers handlers by name. A notification is a call
 * without a response.
 */
import { MessagePort } from 'node:worker_threads'
import type { Transferable, Worker } from 'node:worker_threads'
import { systemClock } from '../../system/clock.ts'
import { ConfigError } from '../../config/config.ts'
import { OperatorError } from '../../system/operator-error.ts'

/** The methods of one side: request and response types by name. */
type RpcMethods = Readonly<Record<string, { readonly request: unknown; readonly response: unknown }>>

export type RpcHandlers<Local extends RpcMethods> = {
  readonly [Name in keyof Local]: (value: Local[Name]['request']) => Local[Name]['response'] | Promise<Local[Name]['response']>
}

type Message =
  | readonly [kind: 'request', id: number, name: string, value: unknown]
  | readonly [kind: 'notify', name: string, value: unknown]
  | readonly [kind: 'response', id: number, value: unknown]
  | readonly [kind: 'error', id: number, failure: SerializedError]

interface SerializedError {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
}

interface PendingRequest {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

export class WorkerRpc<Local extends RpcMethods, Remote extends RpcMethods> {
  readonly #port: Pick<Worker, 'postMessage'>
  readonly #handlers: RpcHandlers<Local>
  readonly #pending = new Map<number, PendingRequest>()
  #lastId = 0
  #closedReason: Error | undefined

  constructor(port: Worker | MessagePort, handlers: RpcHandlers<Local>) {
    this.#port = port
    this.#handlers = handlers
    port.on('message', (message: Message) => void this.#onMessage(message))
  }

  /** @throws the error of the remote handler, or an Error when the port is closed or the response does not arrive in time */
  request<Name extends keyof Remote & string>(
    name: Name,
    value: Remote[Name]['request'],
    { withinMs: timeoutMs, transfer }: { readonly withinMs?: number; readonly transfer?: readonly Transferable[] } = {},
  ): Promise<Remote[Name]['response']> {
    if (this.#closedReason !== undefined) return Promise.reject(this.#closedReason)
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#pending.set(id, { resolve, reject })
    const timer =
      timeoutMs === undefined
        ? undefined
        : systemClock.after(timeoutMs, () => reject(new Error(`"${name}" was not answered within ${timeoutMs} ms`)))
    this.#post(['request', id, name, value], transfer)
    return promise.finally(() => {
      timer?.cancel()
      this.#pending.delete(id)
    })
  }

  notify<Name extends keyof Remote & string>(name: Name, value: Remote[Name]['request']): void {
    if (this.#closedReason === undefined) this.#post(['notify', name, value])
  }

  /** Rejects pending and later requests: the other thread has ended. */
  close(reason: Error): void {
    this.#closedReason = reason
    for (const { reject } of this.#pending.values()) reject(reason)
  }

  async #onMessage(message: Message): Promise<void> {
    switch (message[0]) {
      case 'notify':
        return void this.#handlers[message[1]]?.(message[2])
      case 'response':
        return this.#pending.get(message[1])?.resolve(message[2])
      case 'error':
        return this.#pending.get(message[1])?.reject(deserializeError(message[2]))
      case 'request': {
        const [, id, name, value] = message
        try {
          const result = await this.#handlers[name]?.(value)
          this.#post(['response', id, result], result instanceof MessagePort ? [result] : [])
        } catch (error) {
          this.#post(['error', id, serializeError(error)])
        }
      }
    }
  }

  #post(message: Message, transfer: readonly Transferable[] = []): void {
    this.#port.postMessage(message, transfer)
  }
}

function serializeError(error: unknown): SerializedError {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), stack: undefined }
  return { name: error.name, message: error.message, stack: error.stack }
}

/** Keeps the class of errors with an operator's sentence. */
function deserializeError({ name, message, stack }: SerializedError): Error {
  if (name === 'ConfigError') return new ConfigError(message)
  if (name === 'OperatorError') return new OperatorError(message)
  return Object.assign(new Error(message), { name, stack })
}
