/**
 * The ports that one writer thread serves: the process's own, and one for each of its other worker threads. Each has one request
 * in flight. What all of them have sent is committed together: a commit costs its pages of the log regardless of size. A port with an
 * open transaction is served exclusively until the transaction ends.
 */
import { receiveMessageOnPort } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import type { BatchRequest, FlushedMessage, WriterReply, WriterRequest } from '../connection/writer-protocol.ts'
import { JoinDelay } from './join-delay.ts'

interface ClientPort {
  readonly port: MessagePort
  /** Owner of the holds made on this port; undefined for the process. */
  readonly owner: string | undefined
  isClosed: boolean
  /** The last flush that its client waits for, and the last one reported to it. */
  awaitedFlush: number
  reportedFlush: number
  /** Monotonic time of its last batch, and whether a batch of it is queued. */
  lastBatchAt: number
  hasBatch: boolean
}

/** Batches of several ports are joined up to so many operations. Bounds how long the first of them waits for the last. */
const maxJoinedOperations = 512

/** What answers the requests. */
export interface WriterPortsHandler {
  readonly handle: (request: WriterRequest, owner: string | undefined) => WriterReply
  /** Answers in the same order, after one commit for all. */
  readonly handleBatches: (batches: readonly OwnedBatch[]) => readonly WriterReply[]
  /** Called when the replies have been sent. */
  readonly afterReply: (request: WriterRequest) => void
}

export interface OwnedBatch {
  readonly request: BatchRequest
  readonly owner: string | undefined
}

export class WriterPorts {
  readonly #handler: WriterPortsHandler
  readonly #joinDelay: JoinDelay
  readonly #serveAfterDelay = (): void => this.#serveQueue()
  #own: ClientPort | undefined
  readonly #others = new Map<string, ClientPort>()
  /** The port with the open transaction. */
  #exclusive: ClientPort | undefined
  #queue: (readonly [client: ClientPort, request: WriterRequest])[] = []

  constructor(handler: WriterPortsHandler, joinDelay = new JoinDelay()) {
    this.#handler = handler
    this.#joinDelay = joinDelay
  }

  /** Serves the process's own port. */
  listen(port: MessagePort): void {
    const ownPort = createClientPort(port, undefined)
    this.#own = ownPort
    port.on('message', (request: WriterRequest) => this.#receive(ownPort, request))
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
    this.#enqueue(client, request)
    if (!this.#waitsForOthers()) this.#serveQueue()
  }

  #enqueue(client: ClientPort, request: WriterRequest): void {
    this.#queue.push([client, request])
    if (request[0] !== 'batch') return
    client.hasBatch = true
    client.lastBatchAt = this.#joinDelay.now()
  }

  /** Whether the batches in the queue wait for those of other threads. Nothing else is kept waiting. */
  #waitsForOthers(): boolean {
    if (this.#others.size < 2 || this.#exclusive !== undefined || this.#queue.some(([, [kind]]) => kind !== 'batch')) return false
    return this.#joinDelay.shouldWait(this.#others.values(), this.#serveAfterDelay)
  }

  /** Serves what may be served: while a transaction is open, only its port. */
  #serveQueue(): void {
    this.#joinDelay.end()
    for (;;) {
      const next = this.#queue.findIndex(([client]) => this.#exclusive === undefined || this.#exclusive === client)
      const [client, request] = this.#queue[next] ?? []
      if (client === undefined || request === undefined) return
      if (this.#exclusive === undefined && request[0] === 'batch') this.#serveBatches()
      else {
        this.#queue.splice(next, 1)
        if (!client.isClosed) this.#serve(client, request)
      }
    }
  }

  #serve(client: ClientPort, request: WriterRequest): void {
    if (request[0] === 'release') this.#drain(request[1])
    const reply = this.#handler.handle(request, client.owner)
    const isDone = reply[0][0]?.[0] !== 'fault'
    if (request[0] === 'attach' && isDone) this.#attach(request[1], request[2])
    this.#reply(client, reply)
    this.#handler.afterReply(request)
    if (request[0] === 'begin' && isDone) this.#exclusive = client
    if (request[0] === 'commit' || request[0] === 'rollback') this.#exclusive = undefined
    if (request[0] === 'close') for (const { port } of [client, ...this.#others.values()]) port.close()
  }

  /** Serves the batches that all ports have sent, in one commit; also of threads that have ended, whose holds are released later. */
  #serveBatches(): void {
    for (const client of this.#others.values()) this.#receiveWaiting(client)
    if (this.#own !== undefined) this.#receiveWaiting(this.#own)
    const clients: ClientPort[] = []
    const batches: OwnedBatch[] = []
    let operations = 0
    this.#queue = this.#queue.filter(([client, request]) => {
      if (request[0] !== 'batch' || operations >= maxJoinedOperations) return true
      client.hasBatch = false
      clients.push(client)
      batches.push({ request, owner: client.owner })
      operations += request[2].length
      return false
    })
    const [first] = batches
    if (first === undefined) return
    this.#joinDelay.recordCommit(operations)
    const replies = this.#handler.handleBatches(batches)
    clients.forEach((client, index) => {
      const reply = replies[index]
      if (reply !== undefined) this.#reply(client, reply)
    })
    this.#handler.afterReply(first.request)
  }

  /** Takes the request that a port has sent and whose event is still to come. Node 24 crashes where a port is asked in its `close` event. */
  #receiveWaiting(client: ClientPort): void {
    if (client.isClosed) return
    const envelope = receiveMessageOnPort(client.port)
    if (envelope !== undefined) this.#enqueue(client, envelope.message as WriterRequest)
  }

  #reply(client: ClientPort, reply: WriterReply): void {
    client.awaitedFlush = Math.max(client.awaitedFlush, reply[4])
    client.port.postMessage(reply)
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
    this.#handler.handle(['rollback'], client.owner)
    this.#exclusive = undefined
    this.#serveQueue()
  }

  /** Serves the requests that the thread sent before it ended. */
  #drain(owner: string): void {
    const client = this.#others.get(owner)
    if (client === undefined) return
    this.#others.delete(owner)
    for (;;) {
      const envelope = receiveMessageOnPort(client.port)
      if (envelope === undefined) break
      this.#enqueue(client, envelope.message as WriterRequest)
    }
    this.#serveQueue()
    client.isClosed = true
    client.port.close()
  }
}

function createClientPort(port: MessagePort, owner: string | undefined): ClientPort {
  return { port, owner, isClosed: false, awaitedFlush: 0, reportedFlush: 0, lastBatchAt: -Infinity, hasBatch: false }
}
