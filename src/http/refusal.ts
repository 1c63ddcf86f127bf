/** What never becomes a request of the application is answered by the same envelope, with the same headers and an id of its own. */
import { STATUS_CODES } from '../system/node-http.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { invalidRequest } from '../errors.ts'
import type { GatewayError, Words } from '../errors.ts'
import { envelopeReply } from '../exchange/envelope.ts'
import type { Reply } from '../exchange/exchange.ts'
import type { Services } from '../gateway/services.ts'
import { adoptId } from '../exchange/trace-id.ts'
import { commonHeaderValues } from './page-headers.ts'

export interface Fault {
  /** Where it is another than the code's own. */
  readonly status?: number
  readonly failure: GatewayError
}

export function fault(status: number, detail: Words): Fault {
  return { status, failure: invalidRequest(detail) }
}

/** For whoever has been answered, and does not go. */
const farewellMs = 1_000

export class Refusals {
  readonly #services: Services

  constructor(services: Services) {
    this.#services = services
  }

  /** On HTTP/1 the connection ends, because what follows on it cannot be trusted to be a request. */
  answer({ httpVersionMajor, headers, socket }: IncomingMessage, response: ServerResponse, found: Fault): void {
    const { status, headers: told, body } = this.#reply(found, headers, socket.remoteAddress)
    const all = { ...told, 'content-length': String(Buffer.byteLength(body)) }
    response.writeHead(status, httpVersionMajor < 2 ? { ...all, connection: 'close' } : all)
    response.end(body)
  }

  /** The same where there is no response to write to, only the connection: whose errors nobody else hears, and whose end nobody awaits. */
  answerOn(socket: Socket, found: Fault): void {
    socket.on('error', () => undefined)
    socket.resume()
    const over = setTimeout(() => socket.destroy(), farewellMs)
    socket.on('close', () => clearTimeout(over))
    const { status, headers, body } = this.#reply(found, {}, socket.remoteAddress)
    const lines = Object.entries({
      ...headers,
      date: new Date(this.#services.clock.now()).toUTCString(),
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
    }).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`)
  }

  #reply({ status, failure }: Fault, headers: IncomingMessage['headers'], peer = ''): Reply & { readonly body: string } {
    const { ids, clock, names, origins, log } = this.#services
    const id = ids.next('mbr_', clock.now())
    const x = { id, echo: id, names, debug: {}, headers: commonHeaderValues(origins), inbound: { headers } }
    adoptId(x)
    const reply = envelopeReply(x, failure)
    const told = { ...reply, body: String(reply.body), status: status ?? reply.status }
    log.info({ requestId: x.id, peer, status: told.status, reason: failure.message }, 'no request')
    return told
  }
}
