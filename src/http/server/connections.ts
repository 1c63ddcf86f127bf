/** The connections of a listener: notified of a shutdown, and closed where no request is lost. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { IndexedList } from '../../system/indexed-list.ts'
import type { IndexedItem } from '../../system/indexed-list.ts'

const trackedKey = Symbol('connection')

/** One HTTP/1 connection. */
class TrackedConnection implements IndexedItem {
  listIndex = -1
  readonly socket: Socket
  /** The newest response on it. Responses are sent in order, so when this one has finished all have. */
  response: ServerResponse | null = null
  /** Active time since which it has neither received nor sent anything; null while active. */
  #idleSince: number | null = null
  #bytesRead = 0

  constructor(socket: Socket) {
    this.socket = socket
  }

  get isResponding(): boolean {
    return this.response !== null && !this.response.destroyed && !this.response.writableFinished
  }

  /** Milliseconds it has been idle at this poll; 0 while a request is arriving or a response is being sent. */
  measureIdleMs(now: number): number {
    const { bytesRead } = this.socket
    if (this.isResponding || bytesRead !== this.#bytesRead) {
      this.#bytesRead = bytesRead
      this.#idleSince = null
      return 0
    }
    this.#idleSince ??= now
    return now - this.#idleSince
  }
}

type TrackedSocket = Socket & { [trackedKey]?: TrackedConnection }

/** The highest stream id: with it in GOAWAY, requests already on their way are served and the client opens no new ones. */
const maxStreamId = 2 ** 31 - 1

export class Connections {
  readonly #tracked = new IndexedList<TrackedConnection>()
  readonly #sessions = new Map<ServerHttp2Session, { goawayAt: number | null; activeStreams: number }>()
  #isShuttingDown = false
  #acceptedCount = 0

  /** Connections accepted since the start. */
  get acceptedCount(): number {
    return this.#acceptedCount
  }

  add(socket: Socket): void {
    this.#acceptedCount++
    const connection = new TrackedConnection(socket)
    ;(socket as TrackedSocket)[trackedKey] = connection
    this.#tracked.add(connection)
    socket.on('close', () => this.#tracked.remove(connection))
  }

  addSession(session: ServerHttp2Session): void {
    this.#acceptedCount++
    this.#sessions.set(session, { goawayAt: null, activeStreams: 0 })
    session.on('close', () => this.#sessions.delete(session))
  }

  get size(): number {
    return this.#tracked.size + this.#sessions.size
  }

  /** Registers a response. Returns false if the connection has already been half-closed, so that no answer could be sent. */
  beginResponse(request: IncomingMessage, response: ServerResponse): boolean {
    if (request.httpVersionMajor > 1) {
      this.#beginStreamResponse(response)
      return true
    }
    const connection = (request.socket as TrackedSocket)[trackedKey]
    if (connection === undefined) return true
    if (connection.socket.writableEnded) {
      connection.socket.destroy()
      return false
    }
    connection.response = response
    if (this.#isShuttingDown) response.setHeader('connection', 'close')
    return true
  }

  /** Whether part of a response has been sent on this socket, so that nothing else may be written there. */
  isMidResponse(socket: Socket): boolean {
    const connection = (socket as TrackedSocket)[trackedKey]
    return connection !== undefined && connection.isResponding && connection.response?.headersSent === true
  }

  /** From now on each response is its connection's last; HTTP/2 clients get GOAWAY as soon as they have no active stream (`isBusy`). */
  beginShutdownNotice(): void {
    this.#isShuttingDown = true
    this.#tracked.forEach(({ response, isResponding }) => {
      if (isResponding && response?.headersSent === false) response.setHeader('connection', 'close')
    })
  }

  /** Whether a response is being sent, or a request has arrived within this time. */
  isBusy(now: number, withinMs: number): boolean {
    let busy = false
    // Every connection is measured, because each measurement updates its idle time.
    this.#tracked.forEach((tracked) => {
      if (tracked.measureIdleMs(now) < withinMs && (tracked.isResponding || tracked.socket.bytesRead > 0)) busy = true
    })
    // A client that gets GOAWAY with requests in progress cancels those it has not sent yet; some then wait forever.
    for (const [session, { activeStreams }] of this.#sessions) {
      if (activeStreams > 0) busy = true
      else this.#sendGoaway(session, now)
    }
    return busy
  }

  /** Closes connections that have been idle for `idleMs`. An HTTP/2 session closes by itself after its last stream. */
  closeIdle(now: number, idleMs: number): void {
    this.#tracked.forEach((tracked) => {
      const idle = tracked.measureIdleMs(now)
      // Half-closed first, so that a client that is just sending sees an end of stream and not a reset.
      if (idle >= idleMs && !tracked.socket.writableEnded) tracked.socket.end()
      else if (idle >= idleMs + closeGraceMs) tracked.socket.destroy()
    })
    for (const [session, { goawayAt }] of this.#sessions) {
      if (goawayAt === null) this.#sendGoaway(session, now)
      else if (now - goawayAt >= closeGraceMs && !session.closed) session.close()
    }
  }

  destroy(): void {
    this.#tracked.forEach(({ socket }) => socket.destroy())
    for (const session of this.#sessions.keys()) session.destroy()
  }

  #beginStreamResponse(response: ServerResponse): void {
    const { session } = (response as unknown as { stream: { session?: ServerHttp2Session } }).stream
    const state = session === undefined ? undefined : this.#sessions.get(session)
    if (session === undefined || state === undefined) return
    state.activeStreams++
    response.once('close', () => state.activeStreams--)
  }

  #sendGoaway(session: ServerHttp2Session, now: number): void {
    const state = this.#sessions.get(session)
    if (state === undefined || state.goawayAt !== null || session.destroyed || session.closed) return
    state.goawayAt = now
    session.goaway(0, maxStreamId)
  }
}

/** Time for the peer to close its side. */
const closeGraceMs = 250
