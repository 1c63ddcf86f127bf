/**
 * Those who are heard by one writer thread: the process's own line, and one for each of its other threads. Each has one request out at a
 * time; whoever has begun a transaction is served alone until it is over. A line whose other end has gone has nothing more to say.
 */
import { receiveMessageOnPort } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import type { Flushed, Reply, Request } from './protocol.ts'

interface Line {
  readonly port: Pick<MessagePort, 'postMessage' | 'close'>
  /** By whose name holds are made on it; undefined: the process's own. */
  readonly owner: string | undefined
  isGone: boolean
  /** The last flush that it waits for, and up to which it has been told. */
  awaits: number
  told: number
}

export class WriterLines {
  readonly #answer: (request: Request, owner: string | undefined) => Reply
  readonly #answered: (request: Request) => void
  #own: Line | undefined
  readonly #others = new Map<string, Line & { readonly port: MessagePort }>()
  /** Who has begun a transaction. */
  #alone: Line | undefined
  readonly #waiting: (readonly [line: Line, request: Request])[] = []

  /** `answered` is called when the answer has left. */
  constructor(answer: (request: Request, owner: string | undefined) => Reply, answered: (request: Request) => void) {
    this.#answer = answer
    this.#answered = answered
  }

  /** The process's own line. */
  listen(port: MessagePort): void {
    const line = newLine(port, undefined)
    this.#own = line
    port.on('message', (request: Request) => this.#hear(line, request))
  }

  /** Those hear of it who wait for it. */
  flushed(flushed: Flushed): void {
    const [, upTo] = flushed
    for (const line of [this.#own, ...this.#others.values()]) {
      if (line === undefined || line.isGone || line.told >= line.awaits) continue
      line.told = upTo
      line.port.postMessage(flushed)
    }
  }

  #hear(line: Line, request: Request): void {
    if (line.isGone) return
    if (this.#alone === undefined || this.#alone === line) this.#serve(line, request)
    else this.#waiting.push([line, request])
  }

  #serve(line: Line, request: Request): void {
    if (request[0] === 'release') this.#hearOut(request[1])
    const reply = this.#answer(request, line.owner)
    const isDone = reply[0][0]?.[0] !== 'fault'
    if (request[0] === 'attach' && isDone) this.#attach(request[1], request[2])
    line.awaits = Math.max(line.awaits, reply[4])
    line.port.postMessage(reply)
    this.#answered(request)
    if (request[0] === 'begin' && isDone) this.#alone = line
    if (request[0] === 'commit' || request[0] === 'rollback') this.#goOn()
    if (request[0] === 'close') for (const { port } of [line, ...this.#others.values()]) port.close()
  }

  #goOn(): void {
    this.#alone = undefined
    while (this.#alone === undefined) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      this.#hear(...next)
    }
  }

  #attach(owner: string, port: MessagePort): void {
    const line = newLine(port, owner)
    this.#others.set(owner, line)
    port.on('message', (request: Request) => this.#hear(line, request))
    port.on('close', () => this.#gone(line))
  }

  /** What it has begun and not ended is undone. */
  #gone(line: Line): void {
    line.isGone = true
    if (this.#alone !== line) return
    this.#answer(['rollback'], line.owner)
    this.#goOn()
  }

  /** What it said before it ended was said before whatever is now said of it. */
  #hearOut(owner: string): void {
    const line = this.#others.get(owner)
    if (line === undefined) return
    this.#others.delete(owner)
    for (;;) {
      const last = receiveMessageOnPort(line.port)
      if (last === undefined) break
      this.#hear(line, last.message as Request)
    }
    line.isGone = true
    line.port.close()
  }
}

function newLine<Port extends Line['port']>(port: Port, owner: string | undefined): Line & { readonly port: Port } {
  return { port, owner, isGone: false, awaits: 0, told: 0 }
}
