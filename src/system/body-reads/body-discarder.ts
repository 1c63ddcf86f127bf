/**
 * Discards the body of a request that is answered before its body was read: the only place from which such a response leaves.
 * A proxy or client that still sends reads no response: it reports a failed write, and nginx stops using the node for ten seconds.
 * So the response waits until the body has been received (RFC 9112, 9.6), within limits for each connection and for all of them.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Socket } from 'node:net'
import { systemClock } from '../clock.ts'
import type { Clock } from '../clock.ts'
import { BodyReadScheduler } from './body-read-scheduler.ts'

type Request = IncomingMessage | Http2ServerRequest
type Response = ServerResponse | Http2ServerResponse

export interface DiscardLimits {
  /** Of one body, after what a handler has read of it. */
  readonly maxBytes: number
  readonly maxMs: number
  /** Longest time without a byte. */
  readonly maxIdleMs: number
  /** Bodies at once. Requests beyond are answered without waiting. */
  readonly maxConcurrent: number
}

const defaultLimits: DiscardLimits = { maxBytes: 20 * 1024 * 1024, maxMs: 60_000, maxIdleMs: 10_000, maxConcurrent: 2_000 }

/** A body is paused after this many bytes, and one body resumes each millisecond: at most 250 MB/s are discarded. */
const sliceBytes = 256 * 1024

/** How long the connection is read on after a response to a body that has passed a limit. */
const closeGraceMs = 1_000

/** RFC 9113, 7. */
const http2NoError = 0x0

export class BodyDiscarder {
  readonly #limits: DiscardLimits
  readonly #clock: Clock
  readonly #scheduler: BodyReadScheduler
  /** The requests whose bodies are being discarded, with the function that answers them. */
  readonly #waiting = new Map<Request, () => void>()
  #isStopped = false

  constructor(limits: Partial<DiscardLimits> = {}, clock = systemClock) {
    this.#limits = { ...defaultLimits, ...limits }
    this.#clock = clock
    // Its time stands still, so bodies take turns from now on.
    this.#scheduler = new BodyReadScheduler(() => 0, clock)
    this.#scheduler.noteSmallRequest()
  }

  /** Number of bodies that are being discarded. */
  get running(): number {
    return this.#waiting.size
  }

  /** Ends every wait, also those of later requests: the process is about to close its connections. */
  stop(): void {
    this.#isStopped = true
    for (const finish of this.#waiting.values()) finish()
  }

  /**
   * Calls `respond` when the rest of the body has been received or has passed a limit; at once when nothing is left to receive.
   * In the second case the response is the last one of its connection or stream.
   */
  respondAfterBody(request: Request, response: Response, respond: () => void): void {
    if (!hasUnreadBody(request)) return respond()
    const isFull = this.#waiting.size >= this.#limits.maxConcurrent
    if (this.#isStopped || isFull) this.respondNow(request, response, respond)
    else this.#discard(request, () => this.respondNow(request, response, respond))
  }

  /** Ends the wait for a body: a response that waits for it leaves, otherwise `respond` is called. */
  respondNow(request: Request, response: Response, respond: () => void): void {
    const finish = this.#waiting.get(request)
    if (finish !== undefined) return finish()
    if (hasUnreadBody(request)) closeAfterResponse(request, response, this.#clock)
    respond()
  }

  #discard(request: Request, onEnd: () => void): void {
    const { maxBytes, maxMs, maxIdleMs } = this.#limits
    let bytes = 0
    let bytesInSlice = 0
    const onData = (chunk: Buffer): void => {
      idleTimer.restart()
      bytes += chunk.length
      bytesInSlice += chunk.length
      if (bytes > maxBytes) return finish()
      if (bytesInSlice < sliceBytes) return
      bytesInSlice = 0
      this.#scheduler.yieldSlice(request)
    }
    const finish = (): void => {
      timer.cancel()
      idleTimer.cancel()
      request.off('data', onData)
      for (const event of endEvents) request.off(event, finish)
      this.#waiting.delete(request)
      onEnd()
    }
    this.#waiting.set(request, finish)
    const timer = this.#clock.after(maxMs, finish)
    const idleTimer = this.#clock.after(maxIdleMs, finish)
    for (const event of endEvents) request.on(event, finish)
    // An aborted request emits 'error', which would end the process without a listener.
    request.on('error', () => undefined)
    request.on('data', onData)
    request.resume()
  }
}

const endEvents = ['end', 'close'] as const

/** Whether bytes of the body have not been received. */
function hasUnreadBody(request: Request): boolean {
  if (request.complete || request.destroyed) return false
  if ('stream' in request) return !request.stream.endAfterHeaders
  const { 'transfer-encoding': encoding, 'content-length': length = '0' } = request.headers
  return encoding !== undefined || Number(length) > 0
}

/** Unread bytes would reset the connection and with it the response: it is closed in one direction and read on for a moment. */
function closeAfterResponse(request: Request, response: Response, clock: Clock): void {
  if ('stream' in response) {
    const { stream } = response
    // The response itself emits 'finish' only when its stream has closed.
    stream.once('finish', () => stream.close(http2NoError))
    return
  }
  response.setHeader('connection', 'close')
  // Node calls this after the last response of a connection.
  const socket = request.socket as Socket
  const destroySoon = (): void => {
    socket.end()
    const timer = clock.after(closeGraceMs, () => socket.destroy())
    socket.once('close', () => timer.cancel())
  }
  Object.assign(socket, { destroySoon })
}
