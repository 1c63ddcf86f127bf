/**
 * The ports that one writer thread serves: the process's own, and one for each of its other worker threads. Each has one request
 * in flight. A port with an open transaction is served exclusively until the transaction ends.
 */
import { receiveMessageOnPort } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import type { FlushedMessage, WriterReply, WriterRequest } from '../connection/writer-protocol.ts'

interface ClientPort {
  readonly port: Pick<MessagePort, 'postMessage' | 'close'>
  /** Owner of the holds made on this port; undefined for the process. */
  readonly owner: string | undefined
  isClosed: boolean
  /** The last flush that its client waits for, and the last one reported to it. */
  awaitedFlush: number
  reportedFlush: number
}

export class WriterPorts {
  readonly #answer: (request: WriterRequest, owner: string | undefined) => WriterReply
  readonly #afterReply: (request: WriterRequest) => void
  #own: ClientPort | undefined
  readonly #others = new Map<string, ClientPort & { readonly port: MessagePort }>()
  /** The port with the open transaction. */
  #exclusive: ClientPort | undefined
  readonly #queue: (readonly [client: ClientPort, request: WriterRequest])[] = []

  /** `afterReply` is called when the reply has been sent. */
  constructor(
    answer: (request: WriterRequest, owner: string | undefined) => WriterReply,
    afterReply: (request: WriterRequest) => void,
  ) {
    this.#answer = answer
    this.#afterReply = afterReply
  }

  /** Serves the process's own port. */
  listen(port: MessagePort): void {
    const own = createClientPort(port, undefined)
    this.#own = own
    port.on('message', (request: WriterRequest) => this.#receive(own, request))
  }

  /** Reports a flush to the clients that wait for one. */
  reportFlushed(flushed: FlushedMessage): void {
    const [, upTo] = flushed
    for (const client of [this.#own, ...this.#others.values()]) {
      if (client === undefined || client.isClosed || client.reportedFlush >= client.awaitedFlush) continue
      client.reportedFlush = upTo
      client.port.postMessage(flushed)
    }
  }

  #receive(client: ClientPort, request: WriterRequest): void {
    if (client.isClosed) return
    if (this.#exclusive === undefined || this.#exclusive === client) this.#serve(client, request)
    else this.#queue.push([client, request])
  }

  #serve(client: ClientPort, request: WriterRequest): void {
    if (request[0] === 'release') this.#drain(request[1])
    const reply = this.#answer(request, client.owner)
    const isDone = reply[0][0]?.[0] !== 'fault'
    if (request[0] === 'attach' && isDone) this.#attach(request[1], request[2])
    client.awaitedFlush = Math.max(client.awaitedFlush, reply[4])
    client.port.postMessage(reply)
    this.#afterReply(request)
    if (request[0] === 'begin' && isDone) this.#exclusive = client
    if (request[0] === 'commit' || request[0] === 'rollback') this.#resume()
    if (request[0] === 'close') for (const { port } of [client, ...this.#others.values()]) port.close()
  }

  #resume(): void {
    this.#exclusive = undefined
    while (this.#exclusive === undefined) {
      const next = this.#queue.shift()
      if (next === undefined) return
      this.#receive(...next)
    }
  }

  #attach(owner: string, port: MessagePort): void {
    const client = createClientPort(port, owner)
    this.#others.set(owner, client)
    port.on('message', (request: WriterRequest) => this.#receive(client, request))
    port.on('close', () => this.#handleClose(client))
  }

  /** Rolls back the transaction that the closed port has open. */
  #handleClose(client: ClientPort): void {
    client.isClosed = true
    if (this.#exclusive !== client) return
    this.#answer(['rollback'], client.owner)
    this.#resume()
  }

  /** Serves the requests that the thread sent before it ended. */
  #drain(owner: string): void {
    const client = this.#others.get(owner)
    if (client === undefined) return
    this.#others.delete(owner)
    for (;;) {
      const received = receiveMessageOnPort(client.port)
      if (received === undefined) break
      this.#receive(client, received.message as WriterRequest)
    }
    client.isClosed = true
    client.port.close()
  }
}

function createClientPort<Port extends ClientPort['port']>(
  port: Port,
  owner: string | undefined,
): ClientPort & { readonly port: Port } {
  return { port, owner, isClosed: false, awaitedFlush: 0, reportedFlush: 0 }
}
