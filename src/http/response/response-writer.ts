/** Writes responses of the exchange on Node's response object, HTTP/1.1 and HTTP/2 alike. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Context } from 'koa'
import type { ResponseSink } from '../../exchange/response-sink.ts'
import { validateHeaderName, validateHeaderValue } from '../../system/vendor/node-http.ts'
import type { Application } from '../application.ts'
import { freeMemory } from '../../system/memory/free-memory.ts'
import { BodyDiscarder } from '../../system/body-reads/body-discarder.ts'
import { WriteCoalescer } from './write-coalescing.ts'
import type { CoalescedStream } from './write-coalescing.ts'

/** Larger buffers are written at once. */
const maxBufferedChars = 16_384
/** A shorter whole answer fits in the socket's buffers. */
const minWatchedBytes = 65_536

const writeCoalescer = new WriteCoalescer()

export class ResponseWriter implements ResponseSink, CoalescedStream {
  listIndex = -1
  readonly #request: IncomingMessage | Http2ServerRequest
  readonly #response: ServerResponse
  readonly #commonHeaders: Readonly<Record<string, string>>
  readonly #bodyDiscarder: BodyDiscarder
  readonly #slowReaderMs: number
  readonly #disconnectListeners: (() => void)[] = []
  #disconnected = false
  /** The response of `reply` waits for the rest of the request's body. */
  #hasReplied = false
  #ended = false
  /** Frames have been written, and the head with the first of them. */
  #hasWritten = false
  /** This class encodes the chunks itself. */
  #encodesChunks = false
  /** A flush is scheduled for the end of the current event loop task. */
  #flushScheduled = false
  /** Something was written within this flush interval: later writes are buffered until the next. */
  #isCoalescing = false
  #buffer = ''
  /** Only the end follows: buffered frames wait for it until the second flush from now. */
  #expectsEnd = false
  /** The socket has accepted the last write. */
  #isWritable = true

  /**
   * @param commonHeaders headers of every response
   * @param slowReaderMs a client that takes nothing of a whole answer for this long is disconnected; 0: it is not
   */
  constructor(
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
    commonHeaders: Readonly<Record<string, string>> = {},
    bodyDiscarder = new BodyDiscarder(),
    slowReaderMs = 0,
  ) {
    this.#request = request
    this.#commonHeaders = commonHeaders
    this.#bodyDiscarder = bodyDiscarder
    this.#slowReaderMs = slowReaderMs
    // The compatibility response of node:http2 has every method used here.
    this.#response = response as ServerResponse
    this.#response.on('close', () => this.#onClose())
    // A socket error is followed by 'close', which is handled; an unhandled 'error' would end the process.
    this.#response.on('error', () => undefined)
  }

  get disconnected(): boolean {
    return this.#disconnected
  }

  get headersSent(): boolean {
    return this.#hasReplied || this.#response.headersSent
  }

  onDisconnect(listener: () => void): void {
    if (this.#disconnected) listener()
    else this.#disconnectListeners.push(listener)
  }

  writeHead(status: number, headers: Readonly<Record<string, string>>): void {
    if (this.#disconnected) return
    this.#response.writeHead(status, this.#prepareHeaders(headers))
    // Node writes a chunk in four pieces, which costs twice as much as one. HTTP/2 and HTTP/1.0 have no chunks.
    this.#encodesChunks = this.#response.chunkedEncoding
    if (this.#encodesChunks) this.#response.chunkedEncoding = false
    this.#scheduleFlush()
  }

  write(frames: string): boolean {
    if (this.#disconnected) return true
    this.#buffer += frames
    if (!this.#isCoalescing) {
      this.#isCoalescing = true
      writeCoalescer.add(this)
      this.#scheduleFlush()
    }
    if (this.#buffer.length >= maxBufferedChars) this.flush()
    return this.#isWritable
  }

  flush(): boolean {
    if (this.#expectsEnd && this.#buffer !== '') {
      this.#expectsEnd = false
      return true
    }
    const bufferedText = this.#takeBuffer()
    this.#isCoalescing = bufferedText !== ''
    if (this.#isCoalescing && !this.#disconnected) this.#writeFrames(bufferedText)
    return this.#isCoalescing
  }

  onDrain(listener: () => void): void {
    this.#response.once('drain', listener)
  }

  /**
   * Under load a turn is settled some milliseconds after its upstream has ended, and then the last frames and the end leave in one write
   * instead of two.
   */
  expectEnd(): void {
    this.#expectsEnd = true
  }

  end(frames = ''): void {
    this.#ended = true
    const last = this.#takeBuffer() + frames
    if (this.#disconnected) return
    this.#hasWritten = true
    this.#response.end(this.#encodesChunks ? encodeChunk(last) + lastChunk : last)
  }

  destroy(): void {
    this.#ended = true
    this.#takeBuffer()
    if (!this.#disconnected) destroyResponse(this.#response)
  }

  validateHeaders(headers: Readonly<Record<string, string>>): void {
    for (const name in headers) {
      validateHeaderName(name)
      validateHeaderValue(name, headers[name] ?? '')
    }
  }

  reply(status: number, headers: Readonly<Record<string, string>>, body: string | Uint8Array): void {
    if (this.#disconnected || this.headersSent) return
    const length = String(typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength)
    const all = this.#prepareHeaders({ ...headers, 'content-length': length })
    this.#ended = true
    this.#hasReplied = true
    this.#bodyDiscarder.respondAfterBody(this.#request, this.#response, () => {
      this.#response.writeHead(status, all)
      if (this.#request.method === 'HEAD') return void this.#response.end()
      // Until it is taken, the answer is in memory; the turn that made it has ended.
      if (this.#slowReaderMs > 0 && Number(length) > minWatchedBytes)
        this.#response.setTimeout(this.#slowReaderMs, () => destroyResponse(this.#response))
      this.#response.end(body, () => {
        if (typeof body !== 'string') freeMemory(body.buffer)
      })
    })
  }

  /**
   * All headers of a response, streamed or whole. They are checked before they are written: HTTP/2 drops an invalid one without an error, and
   * a head that waits for the request's body is written where nothing catches the error.
   */
  #prepareHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
    this.validateHeaders(headers)
    return { ...this.#commonHeaders, ...headers }
  }

  /** Frames written in one event loop task leave in one write, together with the head. */
  #scheduleFlush(): void {
    if (this.#flushScheduled) return
    this.#flushScheduled = true
    process.nextTick(ResponseWriter.#flushScheduledWrites, this)
  }

  static #flushScheduledWrites(client: ResponseWriter): void {
    client.#flushScheduled = false
    // The flush interval ends the wait.
    if (client.#expectsEnd && client.#buffer !== '') return
    const bufferedText = client.#takeBuffer()
    if (client.#disconnected || client.#ended) return
    if (bufferedText !== '') client.#writeFrames(bufferedText)
    else if (!client.#hasWritten) client.#response.flushHeaders()
  }

  #writeFrames(frames: string): void {
    this.#hasWritten = true
    this.#isWritable = this.#response.write(this.#encodesChunks ? encodeChunk(frames) : frames)
    if (!this.#isWritable) this.#response.once('drain', () => (this.#isWritable = true))
  }

  #takeBuffer(): string {
    const bufferedText = this.#buffer
    this.#buffer = ''
    return bufferedText
  }

  #onClose(): void {
    if (this.#ended || this.#disconnected) return
    this.#disconnected = true
    for (const listener of this.#disconnectListeners) listener()
  }
}

/** RFC 9113, 7. */
const http2InternalError = 0x2

/**
 * Aborts a response so that its reader can detect it. A merely destroyed stream looks complete over HTTP/2, whose reset then carries
 * no error, and over HTTP/1.0, where only the end of the connection ends the body.
 */
export function destroyResponse(response: ServerResponse | Http2ServerResponse): void {
  if ('stream' in response) return response.stream.close(http2InternalError)
  const { req, socket } = response
  // A TLS connection cannot be reset; without its close_notify the client sees that it is truncated.
  if (req.httpVersion === '1.0' && socket !== null && !('encrypted' in socket)) socket.resetAndDestroy()
  else response.destroy()
}

/** RFC 9112, 7.1. */
function encodeChunk(frames: string): string {
  return frames === '' ? '' : `${Buffer.byteLength(frames).toString(16)}\r\n${frames}\r\n`
}

const lastChunk = '0\r\n\r\n'

/**
 * Takes a response out of Koa's hands by `ctx.respond = false`. Koa would otherwise append its own body to a response that is unfinished
 * when its middleware returns. Koa documents the switch as unsupported; it is set here alone.
 */
export function bypassKoa(ctx: Context): ResponseWriter {
  ctx.respond = false
  const { commonHeaders, bodyDiscarder, slowReaderMs } = ctx.app as Application
  return new ResponseWriter(ctx.req, ctx.res, commonHeaders, bodyDiscarder, slowReaderMs)
}
