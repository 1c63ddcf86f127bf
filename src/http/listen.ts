/** The sockets: HTTP/1.1, or with a certificate HTTPS that speaks HTTP/2 as well. Every limit of the wire is set here. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createSecureServer } from 'node:http2'
import type { Http2SecureServer, ServerHttp2Session } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import type Koa from 'koa'
import { ConfigError } from '../config.ts'
import type { GatewayConfig } from '../config.ts'
import { catalogue } from '../errors.ts'
import { bind, shownHost } from './bind.ts'

export interface Listener {
  readonly url: string
  /** From now on each answer tells its connection to end; new ones are still taken. */
  announceEnd(): void
  /** Takes no new connection, tells kept ones to end, and resolves when the last request has been answered. */
  close(): Promise<void>
  /** Ends whatever is still open, once its last word has had a moment to leave. */
  endIdle(): void
}

const maxHeaderBytes = 16 * 1024
/** A header section, and a whole request, must be in by then: slow senders hold nothing for long. */
const headersTimeoutMs = 20_000
const requestTimeoutMs = 120_000
const keepAliveMs = 65_000
const farewellMs = 1_000
const idleCheckMs = 50

export async function listen(app: Koa, config: GatewayConfig): Promise<Listener> {
  const { host, port, tls } = config.listen
  const handler = app.callback()
  const sessions = new Set<ServerHttp2Session>()
  let closing = false
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    // While draining, each answer tells its connection to end; a reset would lose a request in flight.
    if (closing && request.httpVersionMajor === 1) response.setHeader('connection', 'close')
    const fault = faultOf(request)
    if (fault === null) void handler(request, response)
    else refuse(request, response, fault)
  }
  const server: Server | Http2SecureServer =
    tls === null ? createServer(wireLimits, onRequest) : secureServer(tls, onRequest, sessions)
  server.on('clientError', refuseMalformed)
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    refuse(request, response, { status: 417, detail: 'this Expect is not known.' }),
  )
  // No request outlives its turn's total time; a client that never takes its answer does not hold a socket for ever.
  server.setTimeout(config.timeouts.totalMs + config.timeouts.slowReaderMs)
  server.maxConnections = config.limits.connections
  await bind(server, { host, port, names: 'PORT' })
  const address = server.address() as AddressInfo
  return {
    url: `${tls === null ? 'http' : 'https'}://${shownHost(host)}:${address.port}`,
    announceEnd() {
      closing = true
    },
    async close() {
      closing = true
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve())
      })
      for (const session of sessions) session.close()
      // A connection whose answer had begun before the end was announced is kept by its client, and idle once that answer is out.
      const idle = setInterval(() => {
        if ('closeIdleConnections' in server) server.closeIdleConnections()
      }, idleCheckMs)
      await closed
      clearInterval(idle)
    },
    endIdle() {
      setTimeout(() => {
        if ('closeAllConnections' in server) server.closeAllConnections()
        for (const session of sessions) session.destroy()
      }, farewellMs)
    },
  }
}

const wireLimits = {
  maxHeaderSize: maxHeaderBytes,
  headersTimeout: headersTimeoutMs,
  requestTimeout: requestTimeoutMs,
  keepAliveTimeout: keepAliveMs,
  connectionsCheckingInterval: 1_000,
  // Duplicate or contradictory framing is refused by the parser; nothing lenient in front of money.
  insecureHTTPParser: false,
  // Looked at by ourselves, because the parser's own refusal is no envelope.
  requireHostHeader: false,
  joinDuplicateHeaders: false,
  noDelay: true,
} as const

function secureServer(
  tls: { cert: string; key: string },
  onRequest: (request: IncomingMessage, response: ServerResponse) => void,
  sessions: Set<ServerHttp2Session>,
): Http2SecureServer {
  const server = createSecureServer(
    {
      cert: readPem(tls.cert),
      key: readPem(tls.key),
      allowHTTP1: true,
      maxHeaderListPairs: 100,
      maxSessionInvalidFrames: 100,
      settings: { maxConcurrentStreams: 100, maxHeaderListSize: maxHeaderBytes, enablePush: false },
      // Rapid resets: a client may cancel as fast as it reads, not faster.
      streamResetBurst: 200,
      streamResetRate: 33,
    },
    // The compatibility request and response have all that the house uses.
    onRequest as unknown as Parameters<typeof createSecureServer>[1],
  )
  server.on('session', (session) => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session))
  })
  return server
}

function readPem(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new ConfigError(`listen.tls: ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'}).`)
  }
}

interface Fault {
  readonly status: number
  readonly detail: string
}

/** What the parser lets pass although no two readers of it would agree; null where there is nothing of the kind. */
function faultOf({ httpVersionMajor, httpVersionMinor, rawHeaders, url = '' }: IncomingMessage): Fault | null {
  if (httpVersionMajor >= 2) return oversized(rawHeaders)
  if (httpVersionMajor === 0) return { status: 400, detail: 'the version of HTTP is missing.' }
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === 'host') hosts++
  if (hosts > 1) return { status: 400, detail: "the header 'Host' was sent more than once." }
  if (hosts === 0 && httpVersionMinor > 0) return { status: 400, detail: "the header 'Host' is missing." }
  const wellFormed = /^(?:\/|\*$|https?:\/\/[^/?#])/i.test(url)
  return wellFormed ? null : { status: 400, detail: 'the target is neither a path nor an address.' }
}

/** The limit that HTTP/2 lets a server announce is a wish; a peer that does not keep it is refused here. */
function oversized(rawHeaders: readonly string[]): Fault | null {
  let size = 0
  for (const text of rawHeaders) size += text.length
  return size > maxHeaderBytes ? { status: 431, detail: `the header section is larger than ${maxHeaderBytes} bytes.` } : null
}

/** Answers with the envelope; on HTTP/1 the connection ends, because what follows on it cannot be trusted to be a request. */
function refuse({ httpVersionMajor }: IncomingMessage, response: ServerResponse, { status, detail }: Fault): void {
  const type = { 'content-type': 'application/json; charset=utf-8' }
  response.writeHead(status, httpVersionMajor < 2 ? { ...type, connection: 'close' } : type)
  response.end(malformed(detail))
}

/** What is not even a request still gets the envelope. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, reason, detail] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? [431, 'Request Header Fields Too Large', `the header section is larger than ${maxHeaderBytes} bytes.`]
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'Request Timeout', 'the request did not arrive in time.']
        : [400, 'Bad Request', 'the request is not well-formed HTTP.']
  const body = malformed(String(detail))
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}

/** The envelope of something that never became a request; it has no id, because nothing is known of it. */
function malformed(detail: string): string {
  const { en, zh, type, stage, actions } = catalogue.invalid_request
  const message = en.replace('{detail}', detail)
  return JSON.stringify({
    ok: false,
    requestId: 'mbr_unknown',
    error: { message, type, code: 'invalid_request', param: null },
    message,
    messageZh: zh.replace('{detail}', detail),
    code: 'invalid_request',
    stage,
    actions,
    debug: {},
  })
}
