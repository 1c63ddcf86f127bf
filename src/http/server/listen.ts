/** Listening sockets: HTTP/1.1, or with a certificate HTTPS with HTTP/2 and HTTP/1.1. Every protocol limit is set here. */
import { readFileSync } from 'node:fs'
import { createServer } from '../../system/vendor/node-http.ts'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createSecureServer } from 'node:http2'
import type { Http2SecureServer, ServerHttp2Session } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate as nextLoopTurn } from 'node:timers/promises'
import { createSecureContext } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { ConfigError } from '../../config/config.ts'
import { GatewayError } from '../../errors.ts'
import type { Services } from '../../services/services.ts'
import { parseNetworks } from '../../system/cidr.ts'
import { AddressConnectionLimit } from './address-limit.ts'
import { formatHost } from '../../config/site-origin.ts'
import { bind } from './bind.ts'
import { Connections } from './connections.ts'
import { confineStreamErrors, limitIdleSession, limitRequestTime } from './http2-limits.ts'
import type { ProtocolTimeouts } from './http2-limits.ts'
import { createViolation, ProtocolErrorResponder } from './protocol-errors.ts'
import type { ProtocolViolation } from './protocol-errors.ts'

export interface Listener {
  readonly url: string
  /**
   * Announces the shutdown on every connection and keeps serving, new connections included. Resolves when no connection is open, when no
   * request has arrived for half of `noticeMs`, or after `noticeMs`.
   */
  beginShutdownNotice(noticeMs: number): Promise<void>
  /** Accepts no new connections, closes idle ones, and resolves when the last request has been answered. */
  close(): Promise<void>
  /** Destroys the connections that are still open, after a grace period for final bytes. */
  destroyAfterGrace(): void
  /** Bounds further connections, and uses another certificate for them. Open connections stay as they are. */
  reconfigure(settings: { readonly maxConnections: number; readonly certificate: CertificatePair | null }): void
}

/** A certificate chain and its key, PEM. */
export interface CertificatePair {
  readonly cert: Uint8Array
  readonly key: Uint8Array
}

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => unknown

const defaultTimeouts: ProtocolTimeouts = { headersMs: 20_000, requestMs: 120_000, keepAliveMs: 65_000 }
const maxHeaderBytes = 16 * 1024
const handshakeTimeoutMs = 10_000
const closeGraceMs = 1_000
const pollMs = 25

/** Proxies on this machine, which bring the connections of many clients. */
const localAddresses = ['127.0.0.1', '::1']

/** @param sharedPort port shared with other threads, 0 for the first of them; null when only this thread listens */
export async function listen(
  handler: RequestHandler,
  services: Services,
  sharedPort: number | null = null,
  timeouts = defaultTimeouts,
): Promise<Listener> {
  const { config, clock, telemetry } = services
  const { host, port, tls } = config.listen
  const connections = new Connections()
  const refusals = new ProtocolErrorResponder(services)
  let quietWindowMs = 0
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    if (!connections.beginResponse(request, response)) return
    const violation = findViolation(request)
    if (request.httpVersionMajor > 1)
      limitRequestTime(request, response, {
        timeoutMs: timeouts.requestMs,
        clock,
        onTimeout: () => refusals.respondNow(request, response, requestTimeout),
      })
    if (violation === null) void handler(request, response)
    else refusals.respond(request, response, violation)
  }
  const httpLimits = createHttpLimits(timeouts)
  const ownCertificate = tls === null ? null : readCertificate(tls)
  if (ownCertificate !== null) telemetry.recordCertificate(ownCertificate.cert)
  const server: Server | Http2SecureServer =
    ownCertificate === null ? createServer(httpLimits, onRequest) : createTlsServer(ownCertificate, httpLimits, onRequest)
  const proxies = parseNetworks([...localAddresses, ...config.listen.trustedProxies])
  const addressLimit = new AddressConnectionLimit(config.limits.connectionsPerAddress, proxies)
  server.prependListener('connection', (socket: Socket) => {
    if (addressLimit.admit(socket)) return
    socket.destroy()
    telemetry.recordRefusedConnection('address')
  })
  server.on('drop', () => telemetry.recordRefusedConnection('total'))
  if (tls === null) server.on('connection', (socket: Socket) => connections.add(socket))
  else {
    server.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol !== 'h2') connections.add(socket)
    })
    server.on('session', (session: ServerHttp2Session) => {
      confineStreamErrors(session, clock)
      limitIdleSession(session, timeouts, clock)
      connections.addSession(session)
    })
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // Nothing else may be written into the middle of a response.
    if (error.code === 'ECONNRESET' || connections.isMidResponse(socket)) socket.destroy()
    else refusals.respondOnSocket(socket, toParserViolation(error))
  })
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    if (connections.beginResponse(request, response)) refusals.respond(request, response, unknownExpectation)
  })
  // HTTP/2 passes a response here, HTTP/1 the socket.
  server.on('connect', (request: IncomingMessage, to: ServerResponse | Socket) => {
    if ('writeHead' in to) refusals.respond(request, to, connectNotAllowed)
    else refusals.respondOnSocket(to, connectNotAllowed)
  })
  // `close` would otherwise cut responses that are still being sent; Connections closes idle ones itself.
  Object.assign(server, { closeIdleConnections: () => undefined })
  // No request outlives its turn's total time; a client that never reads its response does not hold a socket for ever.
  server.setTimeout(config.timeouts.totalMs + config.timeouts.slowReaderMs)
  server.maxConnections = config.limits.connections
  await bind(server, { host, port: sharedPort ?? port, settingName: 'PORT', reusePort: sharedPort !== null })
  const address = server.address() as AddressInfo
  return {
    url: `${tls === null ? 'http' : 'https'}://${formatHost(host)}:${address.port}`,
    async beginShutdownNotice(noticeMs) {
      quietWindowMs = noticeMs / 2
      const startedMonotonicMs = clock.monotonicMs()
      const isEmpty = connections.size === 0
      connections.beginShutdownNotice()
      if (isEmpty) return
      // While the process stands still, it cannot notice requests that have arrived.
      let busyAtMs = clock.activeMs()
      while (clock.monotonicMs() - startedMonotonicMs < noticeMs && clock.activeMs() - busyAtMs < quietWindowMs) {
        if (connections.isBusy(clock.activeMs(), pollMs)) busyAtMs = clock.activeMs()
        await clock.wait(pollMs)
      }
    },
    async close() {
      await drainBacklog(connections)
      server.close()
      while (connections.size > 0) {
        connections.closeIdle(clock.activeMs(), quietWindowMs)
        await clock.wait(pollMs)
      }
    },
    destroyAfterGrace() {
      clock.after(closeGraceMs, () => connections.destroy())
    },
    reconfigure({ maxConnections, certificate }) {
      server.maxConnections = maxConnections
      if (certificate === null || !('setSecureContext' in server)) return
      server.setSecureContext({ cert: Buffer.from(certificate.cert), key: Buffer.from(certificate.key) })
      telemetry.recordCertificate(certificate.cert)
    },
  }
}

/**
 * Accepts the connections in the kernel's backlog before closing, which would reset them. One loop turn accepts one connection, so a few
 * turns without one mean that the backlog is empty; `maxTurns` bounds the wait under constant arrivals.
 */
async function drainBacklog(connections: Connections): Promise<void> {
  let acceptedCount = connections.acceptedCount
  for (let idle = 0, turns = 0; idle < minIdleTurns && turns < maxTurns; turns++) {
    await nextLoopTurn()
    idle = connections.acceptedCount === acceptedCount ? idle + 1 : 0
    acceptedCount = connections.acceptedCount
  }
}

const minIdleTurns = 3
const maxTurns = 10_000

const createHttpLimits = ({ headersMs, requestMs, keepAliveMs }: ProtocolTimeouts) => ({
  maxHeaderSize: maxHeaderBytes,
  headersTimeout: headersMs,
  requestTimeout: requestMs,
  keepAliveTimeout: keepAliveMs,
  connectionsCheckingInterval: 1_000,
  // The parser refuses duplicate or contradictory framing; lenient parsing would allow request smuggling.
  insecureHTTPParser: false,
  // Checked in findViolation, because the parser's own refusal has no error envelope.
  requireHostHeader: false,
  joinDuplicateHeaders: false,
  noDelay: true,
})

function createTlsServer(
  certificate: { readonly cert: Buffer; readonly key: Buffer },
  httpLimits: ReturnType<typeof createHttpLimits>,
  onRequest: (request: IncomingMessage, response: ServerResponse) => void,
): Http2SecureServer {
  return createSecureServer(
    {
      // For HTTP/1.1, which is served here as well; HTTP/2 has `http2-limits.ts`.
      ...httpLimits,
      ...certificate,
      allowHTTP1: true,
      handshakeTimeout: handshakeTimeoutMs,
      maxHeaderListPairs: 100,
      maxSessionInvalidFrames: 100,
      settings: { maxConcurrentStreams: 100, maxHeaderListSize: maxHeaderBytes, enablePush: false },
      // Rapid resets: limits how fast a client may cancel streams.
      streamResetBurst: 200,
      streamResetRate: 33,
    },
    // The compatibility request and response have every member used here.
    onRequest as unknown as Parameters<typeof createSecureServer>[1],
  )
}

/** @throws ConfigError unless the files are a certificate and its key */
export function readCertificate(tls: { readonly cert: string; readonly key: string }): { cert: Buffer; key: Buffer } {
  const pair = { cert: readPem(tls.cert), key: readPem(tls.key) }
  try {
    createSecureContext(pair)
  } catch (error) {
    throw new ConfigError(`listen.tls: ${tls.cert} and ${tls.key} are no certificate and its key (${(error as Error).message}).`)
  }
  return pair
}

function readPem(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new ConfigError(`listen.tls: ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'}).`)
  }
}

const headerTooLarge = createViolation(431, {
  en: `the header section is larger than ${maxHeaderBytes} bytes.`,
  zh: `请求头超过 ${maxHeaderBytes} 字节。`,
})
const requestTimeout = createViolation(408, { en: 'the request did not arrive in time.', zh: '请求未能及时到达。' })
const unknownExpectation = createViolation(417, { en: 'this Expect header is not supported.', zh: '不支持该 Expect 请求头。' })
const connectNotAllowed: ProtocolViolation = { error: new GatewayError('method_not_allowed') }

/** Finds what the parser accepts although HTTP implementations disagree on it; null where there is nothing of the kind. */
function findViolation({ httpVersionMajor, httpVersionMinor, rawHeaders, url = '' }: IncomingMessage): ProtocolViolation | null {
  if (httpVersionMajor >= 2) return checkHeaderSize(rawHeaders)
  if (httpVersionMajor === 0) return createViolation(400, { en: 'the version of HTTP is missing.', zh: '缺少 HTTP 版本。' })
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === 'host') hosts++
  if (hosts > 1) return createViolation(400, { en: "the header 'Host' was sent more than once.", zh: "请求头 'Host' 重复发送。" })
  if (hosts === 0 && httpVersionMinor > 0)
    return createViolation(400, { en: "the header 'Host' is missing.", zh: "缺少请求头 'Host'。" })
  const wellFormed = /^(?:\/|\*$)/.test(url) || (/^https?:\/\/[^/?#]/i.test(url) && URL.canParse(url))
  return wellFormed
    ? null
    : createViolation(400, { en: 'the target is neither a path nor an address.', zh: '请求目标既不是路径也不是地址。' })
}

/** HTTP/2 lets a server only announce its limit; a peer that exceeds it is refused here. */
function checkHeaderSize(rawHeaders: readonly string[]): ProtocolViolation | null {
  let size = 0
  for (const text of rawHeaders) size += text.length
  return size > maxHeaderBytes ? headerTooLarge : null
}

/** Maps a parser error to a response. */
function toParserViolation({ code }: NodeJS.ErrnoException): ProtocolViolation {
  if (code === 'HPE_HEADER_OVERFLOW') return headerTooLarge
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTimeout
  return createViolation(400, { en: 'the request is not well-formed HTTP.', zh: '请求不符合 HTTP 格式。' })
}
