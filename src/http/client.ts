/** The client's end of the line over Node's own response, HTTP/1.1 and HTTP/2 alike. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Context } from 'koa'
import type { Client } from '../exchange/client.ts'
import { validateHeaderName, validateHeaderValue } from '../system/node-http.ts'
import type { Application } from './application.ts'
import { Pace } from './pace.ts'
import type { Paced } from './pace.ts'

/** As much of an unread body as is let run out, to keep the connection. */
const unreadBytes = 65_536

/** More is not gathered. */
const mostGathered = 16_384

const pace = new Pace()

export class NodeClient implements Client, Paced {
  place = -1
  readonly #request: IncomingMessage | Http2ServerRequest
  readonly #response: ServerResponse
  readonly #everywhere: Readonly<Record<string, string>>
  readonly #onLeave: (() => void)[] = []
  #left = false
  #ended = false
  /** Frames have left, and the head with the first of them. */
  #hasSpoken = false
  /** We put the frames into chunks. */
  #chunks = false
  /** At the end of what the event loop does just now. */
  #speaksSoon = false
  /** Something was written within this beat: what follows is gathered till the next. */
  #isPaced = false
  #gathered = ''
  /** What was written last has been taken. */
  #takes = true

  /** @param everywhere headers that every answer has */
  constructor(
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
    everywhere: Readonly<Record<string, string>> = {},
  ) {
    this.#request = request
    this.#everywhere = everywhere
    // The compatibility response of node:http2 has every method used here.
    this.#response = response as ServerResponse
    this.#response.on('close', () => this.#closed())
    // A socket error is followed by 'close', which says all we need; unheard it would end the process.
    this.#response.on('error', () => undefined)
  }

  get left(): boolean {
    return this.#left
  }

  get opened(): boolean {
    return this.#response.headersSent
  }

  onLeave(listener: () => void): void {
    if (this.#left) listener()
    else this.#onLeave.push(listener)
  }

  open(status: number, headers: Readonly<Record<string, string>>): void {
    if (this.#left) return
    this.#response.writeHead(status, this.#allOf(headers))
    // Node writes a chunk as four pieces, which costs twice what one does; HTTP/2 has none, nor has HTTP/1.0.
    this.#chunks = this.#response.chunkedEncoding
    if (this.#chunks) this.#response.chunkedEncoding = false
    this.#speakSoon()
  }

  write(frames: string): boolean {
    if (this.#left) return true
    this.#gathered += frames
    if (!this.#isPaced) {
      this.#isPaced = true
      pace.add(this)
      this.#speakSoon()
    }
    if (this.#gathered.length >= mostGathered) this.beat()
    return this.#takes
  }

  beat(): boolean {
    const gathered = this.#taken()
    this.#isPaced = gathered !== ''
    if (this.#isPaced && !this.#left) this.#send(gathered)
    return this.#isPaced
  }

  onDrain(listener: () => void): void {
    this.#response.once('drain', listener)
  }

  end(frames = ''): void {
    this.#ended = true
    const last = this.#taken() + frames
    if (this.#left) return
    this.#hasSpoken = true
    this.#response.end(this.#chunks ? chunkOf(last) + lastChunk : last)
  }

  cut(): void {
    this.#ended = true
    this.#taken()
    if (!this.#left) cutOff(this.#response)
  }

  prove(headers: Readonly<Record<string, string>>): void {
    for (const name in headers) {
      validateHeaderName(name)
      validateHeaderValue(name, headers[name] ?? '')
    }
  }

  reply(status: number, headers: Readonly<Record<string, string>>, body: string | Uint8Array): void {
    if (this.#left || this.opened) return
    this.#ended = true
    const all = this.#allOf(headers)
    all['content-length'] = String(typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength)
    this.#response.writeHead(status, all)
    this.#response.end(this.#request.method === 'HEAD' ? undefined : body)
  }

  /** What the upstream gave in one piece leaves in one, and takes the head along. */
  #speakSoon(): void {
    if (this.#speaksSoon) return
    this.#speaksSoon = true
    process.nextTick(NodeClient.#speak, this)
  }

  static #speak(client: NodeClient): void {
    client.#speaksSoon = false
    const gathered = client.#taken()
    if (client.#left || client.#ended) return
    if (gathered !== '') client.#send(gathered)
    else if (!client.#hasSpoken) client.#response.flushHeaders()
  }

  #send(frames: string): void {
    this.#hasSpoken = true
    this.#takes = this.#response.write(this.#chunks ? chunkOf(frames) : frames)
    if (!this.#takes) this.#response.once('drain', () => (this.#takes = true))
  }

  #taken(): string {
    const gathered = this.#gathered
    this.#gathered = ''
    return gathered
  }

  /** A request refused before its body was read: rather than take in megabytes nobody wants, the connection ends with the answer. */
  #allOf(given: Readonly<Record<string, string>>): Record<string, string> {
    const headers: Record<string, string> = { ...this.#everywhere, ...given }
    const { httpVersionMajor, complete, headers: sent } = this.#request
    if (complete || httpVersionMajor !== 1) return headers
    const announced = sent['transfer-encoding'] === undefined ? Number(sent['content-length'] ?? 0) : Number.POSITIVE_INFINITY
    if (announced > unreadBytes) headers['connection'] = 'close'
    return headers
  }

  #closed(): void {
    if (this.#ended || this.#left) return
    this.#left = true
    for (const listener of this.#onLeave) listener()
  }
}

/** RFC 9113, 7. */
const internalError = 0x2

/**
 * Ends an answer before its end, so that its reader can tell. Merely destroyed it looks whole over HTTP/2, whose reset says then that
 * nothing was wrong, and over HTTP/1.0, which many a proxy speaks to us and which knows no other end than the connection's.
 */
export function cutOff(response: ServerResponse | Http2ServerResponse): void {
  if ('stream' in response) return response.stream.close(internalError)
  const { req, socket } = response
  // Under TLS a connection cannot be reset; without its farewell it is no whole one there anyway.
  if (req.httpVersion === '1.0' && socket !== null && !('encrypted' in socket)) socket.resetAndDestroy()
  else response.destroy()
}

/** RFC 9112, 7.1. */
function chunkOf(frames: string): string {
  return frames === '' ? '' : `${Buffer.byteLength(frames).toString(16)}\r\n${frames}\r\n`
}

const lastChunk = '0\r\n\r\n'

/**
 * Takes a response out of Koa's hands. Koa would append its own body to one that is unfinished when its middleware returns; documented
 * as unsupported, this switch is nevertheless what a proxy needs, and it is thrown here alone.
 */
export function takeOver(ctx: Context): NodeClient {
  ctx.respond = false
  return new NodeClient(ctx.req, ctx.res, (ctx.app as Application).everywhere)
}
