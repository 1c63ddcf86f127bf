/**
 * Questions and answers between two threads, over what connects them: each side names what it can be asked, and asks by name. What is only
 * told is a question whose answer nobody waits for.
 */
import { MessagePort } from 'node:worker_threads'
import type { Transferable, Worker } from 'node:worker_threads'
import { ConfigError } from '../../config/config.ts'
import { Unusable } from '../../system/unusable.ts'

/** What one side can be asked: by name, with one value, for another. */
export type Asked = Readonly<Record<string, { readonly asks: unknown; readonly gives: unknown }>>

export type Answers<Mine extends Asked> = {
  readonly [Name in keyof Mine]: (value: Mine[Name]['asks']) => Mine[Name]['gives'] | Promise<Mine[Name]['gives']>
}

type Message =
  | readonly [kind: 'ask', id: number, name: string, value: unknown]
  | readonly [kind: 'tell', name: string, value: unknown]
  | readonly [kind: 'gave', id: number, value: unknown]
  | readonly [kind: 'threw', id: number, failure: Failure]

interface Failure {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
}

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

export class Wire<Mine extends Asked, Theirs extends Asked> {
  readonly #end: Pick<Worker, 'postMessage'>
  readonly #answers: Answers<Mine>
  readonly #waiting = new Map<number, Waiting>()
  #asked = 0
  #gone: Error | undefined

  constructor(end: Worker | MessagePort, answers: Answers<Mine>) {
    this.#end = end
    this.#answers = answers
    end.on('message', (message: Message) => void this.#heard(message))
  }

  /** @throws what the other side threw; or where it has gone, or says nothing for so long */
  ask<Name extends keyof Theirs & string>(
    name: Name,
    value: Theirs[Name]['asks'],
    { withinMs, transfer }: { readonly withinMs?: number; readonly transfer?: readonly Transferable[] } = {},
  ): Promise<Theirs[Name]['gives']> {
    if (this.#gone !== undefined) return Promise.reject(this.#gone)
    const id = ++this.#asked
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#waiting.set(id, { resolve, reject })
    const timer =
      withinMs === undefined
        ? undefined
        : setTimeout(() => reject(new Error(`"${name}" was not answered within ${withinMs} ms`)), withinMs)
    this.#post(['ask', id, name, value], transfer)
    return promise.finally(() => {
      clearTimeout(timer)
      this.#waiting.delete(id)
    })
  }

  tell<Name extends keyof Theirs & string>(name: Name, value: Theirs[Name]['asks']): void {
    if (this.#gone === undefined) this.#post(['tell', name, value])
  }

  /** Nobody is at the other end any more. */
  cut(why: Error): void {
    this.#gone = why
    for (const { reject } of this.#waiting.values()) reject(why)
  }

  async #heard(message: Message): Promise<void> {
    switch (message[0]) {
      case 'tell':
        return void this.#answers[message[1]]?.(message[2])
      case 'gave':
        return this.#waiting.get(message[1])?.resolve(message[2])
      case 'threw':
        return this.#waiting.get(message[1])?.reject(toError(message[2]))
      case 'ask': {
        const [, id, name, value] = message
        try {
          const given = await this.#answers[name]?.(value)
          this.#post(['gave', id, given], given instanceof MessagePort ? [given] : [])
        } catch (error) {
          this.#post(['threw', id, toFailure(error)])
        }
      }
    }
  }

  #post(message: Message, transfer: readonly Transferable[] = []): void {
    this.#end.postMessage(message, transfer)
  }
}

function toFailure(error: unknown): Failure {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), stack: undefined }
  return { name: error.name, message: error.message, stack: error.stack }
}

/** What an operator should know stays one sentence on its way. */
function toError({ name, message, stack }: Failure): Error {
  if (name === 'ConfigError') return new ConfigError(message)
  if (name === 'Unusable') return new Unusable(message)
  return Object.assign(new Error(message), { name, stack })
}
