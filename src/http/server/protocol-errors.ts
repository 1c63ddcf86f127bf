/** Answers requests that the HTTP parser or the protocol checks refuse, with the usual envelope, headers and a request id. */
import { STATUS_CODES } from '../../system/vendor/node-http.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { invalidRequest } from '../../errors.ts'
import type { GatewayError, LocalizedText } from '../../errors.ts'
import { toEnvelopeReply } from '../../exchange/envelope.ts'
import type { Reply } from '../../exchange/exchange.ts'
import type { Services } from '../../services/services.ts'
import { adoptRequestId } from '../../exchange/request-id.ts'
import { createTranslation } from '../request-context.ts'
import { buildCommonHeaders } from '../response/page-headers.ts'

export interface ProtocolViolation {
  /** The HTTP status, where it differs from the status of the error code. */
  readonly status?: number
  readonly error: GatewayError
}

export function createViolation(status: number, detail: LocalizedText): ProtocolViolation {
  return { status, error: invalidRequest(detail) }
}

/** How long a refused client may keep its connection open. */
const closeGraceMs = 1_000

export class ProtocolErrorResponder {
  readonly #services: Services
  /** Connections that have been answered. The parser reports an error for each piece that still arrives on them. */
  readonly #answered = new WeakSet<Socket>()

  constructor(services: Services) {
    this.#services = services
  }

  /** On HTTP/1 the connection closes, because the bytes that follow cannot be trusted to be a request. */
  respond(request: IncomingMessage, response: ServerResponse, violation: ProtocolViolation): void {
    this.#services.bodyDiscarder.respondAfterBody(request, response, this.#prepare(request, response, violation))
  }

  /** The same without waiting for the rest of the body. A response that waits for it already leaves instead. */
  respondNow(request: IncomingMessage, response: ServerResponse, violation: ProtocolViolation): void {
    this.#services.bodyDiscarder.respondNow(request, response, () => this.#prepare(request, response, violation)())
  }

  /** The same on a bare socket, without a response object; handles the socket's errors and destroys it after a grace period. */
  respondOnSocket(socket: Socket, violation: ProtocolViolation): void {
    if (this.#answered.has(socket)) return
    this.#answered.add(socket)
    if (!socket.writable) {
      socket.destroy()
      return
    }
    socket.on('error', () => undefined)
    socket.resume()
    const timer = this.#services.clock.after(closeGraceMs, () => socket.destroy())
    socket.on('close', () => timer.cancel())
    const { status, headers, body } = this.#reply(violation, { headers: {} }, socket.remoteAddress)
    const lines = Object.entries({
      ...headers,
      date: new Date(this.#services.clock.now()).toUTCString(),
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
    }).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`)
  }

  #prepare(request: IncomingMessage, response: ServerResponse, violation: ProtocolViolation) {
    const { httpVersionMajor, socket } = request
    const { status, headers: replyHeaders, body } = this.#reply(violation, request, socket.remoteAddress)
    const all = { ...replyHeaders, 'content-length': String(Buffer.byteLength(body)) }
    return (): void => {
      response.writeHead(status, httpVersionMajor < 2 ? { ...all, connection: 'close' } : all)
      response.end(body)
    }
  }

  #reply(
    { status, error }: ProtocolViolation,
    { headers, url = '' }: Pick<IncomingMessage, 'headers' | 'url'>,
    peer = '',
  ): Reply & { readonly body: string } {
    const { ids, clock, names, origins, log } = this.#services
    const startedAt = clock.now()
    const id = ids.next('mbr_', startedAt)
    const translation = createTranslation(url.split('?', 1)[0] ?? '', this.#services)
    const x = {
      id,
      responseRequestId: id,
      startedAt,
      names,
      siteUrl: origins.site,
      debug: {},
      headers: buildCommonHeaders(origins),
      inbound: { headers },
      ...(translation === undefined ? {} : { translation }),
    }
    adoptRequestId(x)
    const reply = toEnvelopeReply(x, error)
    const renderedReply = { ...reply, body: String(reply.body), status: status ?? reply.status }
    log.info({ requestId: x.id, peer, status: renderedReply.status, reason: error.message }, 'malformed request refused')
    return renderedReply
  }
}
