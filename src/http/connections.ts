/** The connections of a listener: told that the end is near, and ended where nothing is lost by it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { Running } from '../upstream/running.ts'
import type { Placed } from '../upstream/running.ts'

const line = Symbol('line')

/** One HTTP/1 connection. */
class Line implements Placed {
  place = -1
  readonly socket: Socket
  /** The newest answer on it: answers leave in order, so when this one is out all are. */
  answer: ServerResponse | null = null
  /** Since when nothing has been heard or said on it, as far as anybody looked. */
  #idleSince: number | null = null
  #bytesRead = 0

  constructor(socket: Socket) {
    this.socket = socket
  }

  get isAnswering(): boolean {
    return this.answer !== null && !this.answer.destroyed && !this.answer.writableFinished
  }

  /** For how long it has been idle at this look; 0 while a request is on its way in or an answer out. */
  idleMs(now: number): number {
    const { bytesRead } = this.socket
    if (this.isAnswering || bytesRead !== this.#bytesRead) {
      this.#bytesRead = bytesRead
      this.#idleSince = null
      return 0
    }
    this.#idleSince ??= now
    return now - this.#idleSince
  }
}

type Held = Socket & { [line]?: Line }

/** The highest stream there can be: a session told so takes what is already on its way, and its client opens no more. */
const anyStream = 2 ** 31 - 1

export class Connections {
  readonly #lines = new Running<Line>()
  readonly #sessions = new Map<ServerHttp2Session, { toldAt: number | null; answering: number }>()
  #ending = false
  #taken = 0

  /** How many there have been. */
  get taken(): number {
    return this.#taken
  }

  add(socket: Socket): void {
    this.#taken++
    const held = new Line(socket)
    ;(socket as Held)[line] = held
    this.#lines.add(held)
    socket.on('close', () => this.#lines.remove(held))
  }

  addSession(session: ServerHttp2Session): void {
    this.#taken++
    this.#sessions.set(session, { toldAt: null, answering: 0 })
    session.on('close', () => this.#sessions.delete(session))
  }

  get size(): number {
    return this.#lines.size + this.#sessions.size
  }

  /** Notes that this is answered now. False where the connection has been ended already: nobody would hear an answer. */
  answering(request: IncomingMessage, response: ServerResponse): boolean {
    if (request.httpVersionMajor > 1) {
      this.#answeringStream(response)
      return true
    }
    const held = (request.socket as Held)[line]
    if (held === undefined) return true
    if (held.socket.writableEnded) {
      held.socket.destroy()
      return false
    }
    held.answer = response
    if (this.#ending) response.setHeader('connection', 'close')
    return true
  }

  /** Whether bytes of an answer are on their way out on this socket, so that nothing else may be written there. */
  isMidAnswer(socket: Socket): boolean {
    const held = (socket as Held)[line]
    return held !== undefined && held.isAnswering && held.answer?.headersSent === true
  }

  /** From now on each answer is its connection's last; HTTP/2 clients are told as soon as they are not being answered (`isBusy`). */
  announceEnd(): void {
    this.#ending = true
    this.#lines.each(({ answer, isAnswering }) => {
      if (isAnswering && answer?.headersSent === false) answer.setHeader('connection', 'close')
    })
  }

  /** Whether somebody is being answered, or has been heard within this time. */
  isBusy(now: number, withinMs: number): boolean {
    let busy = false
    // Each is looked at, because a look is what its idle time is measured by.
    this.#lines.each((held) => {
      if (held.idleMs(now) < withinMs && (held.isAnswering || held.socket.bytesRead > 0)) busy = true
    })
    // Told while it asks, a client refuses itself what it has not sent yet; some then wait for what never comes.
    for (const [session, { answering }] of this.#sessions) {
      if (answering > 0) busy = true
      else this.#tell(session, now)
    }
    return busy
  }

  /** Ends what has been idle for so long: its client has had time to say what it had to say. HTTP/2 ends by itself with its last stream. */
  endIdle(now: number, idleMs: number): void {
    this.#lines.each((held) => {
      const idle = held.idleMs(now)
      // Half-closed first, so that a client that is just speaking learns of an end and not of a reset.
      if (idle >= idleMs && !held.socket.writableEnded) held.socket.end()
      else if (idle >= idleMs + farewellMs) held.socket.destroy()
    })
    for (const [session, { toldAt }] of this.#sessions) {
      if (toldAt === null) this.#tell(session, now)
      else if (now - toldAt >= farewellMs && !session.closed) session.close()
    }
  }

  destroy(): void {
    this.#lines.each(({ socket }) => socket.destroy())
    for (const session of this.#sessions.keys()) session.destroy()
  }

  #answeringStream(response: ServerResponse): void {
    const { session } = (response as unknown as { stream: { session?: ServerHttp2Session } }).stream
    const held = session === undefined ? undefined : this.#sessions.get(session)
    if (session === undefined || held === undefined) return
    held.answering++
    response.once('close', () => held.answering--)
  }

  #tell(session: ServerHttp2Session, now: number): void {
    const held = this.#sessions.get(session)
    if (held === undefined || held.toldAt !== null || session.destroyed || session.closed) return
    held.toldAt = now
    session.goaway(0, anyStream)
  }
}

/** For its peer to close, too. */
const farewellMs = 250
