/** The sockets: HTTP/1.1, or with a certificate HTTPS that speaks HTTP/2 as well. Every limit of the wire is set here. */
import { readFileSync } from 'node:fs'
import { createServer } from '../system/node-http.ts'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createSecureServer } from 'node:http2'
import type { Http2SecureServer, ServerHttp2Session } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'
import { createSecureContext } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import type Koa from 'koa'
import { ConfigError } from '../config/config.ts'
import { GatewayError } from '../errors.ts'
import type { Services } from '../gateway/services.ts'
import { bind, shownHost } from './bind.ts'
import { Connections } from './connections.ts'
import { fault, Refusals } from './refusal.ts'
import type { Fault } from './refusal.ts'

export interface Listener {
  readonly url: string
  /**
   * Tells everybody that the end is near, and goes on serving, new connections too. Resolves when nobody is there to hear it, when for
   * half of `noticeMs` nobody has said anything, or when they are over.
   */
  announceEnd(noticeMs: number): Promise<void>
  /** Takes no new connection, ends kept ones where nothing is under way, and resolves when the last request has been answered. */
  close(): Promise<void>
  /** Ends whatever is still open, once its last word has had a moment to leave. */
  endIdle(): void
}

const maxHeaderBytes = 16 * 1024
/** A header section, and a whole request, must be in by then: slow senders hold nothing for long. */
const headersTimeoutMs = 20_000
const requestTimeoutMs = 120_000
const handshakeTimeoutMs = 10_000
const keepAliveMs = 65_000
const farewellMs = 1_000
const lookEveryMs = 25

/** `sharedPort`: where other threads listen too, 0 for the first of them; null: nobody else may. */
export async function listen(app: Koa, services: Services, sharedPort: number | null = null): Promise<Listener> {
  const { config, clock } = services
  const { host, port, tls } = config.listen
  const handler = app.callback()
  const connections = new Connections()
  const refusals = new Refusals(services)
  let quietMs = 0
  // Silence is counted in looks: while the process stands still, nobody is heard who speaks.
  let lookedMs = 0
  const untilNextLook = async (): Promise<void> => {
    await pause(lookEveryMs)
    lookedMs += lookEveryMs
  }
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    if (!connections.answering(request, response)) return
    const found = faultOf(request)
    if (found === null) void handler(request, response)
    else refusals.answer(request, response, found)
  }
  const server: Server | Http2SecureServer = tls === null ? createServer(wireLimits, onRequest) : secureServer(tls, onRequest)
  if (tls === null) server.on('connection', (socket: Socket) => connections.add(socket))
  else {
    server.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol !== 'h2') connections.add(socket)
    })
    server.on('session', (session: ServerHttp2Session) => connections.addSession(session))
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // Into the middle of an answer nothing else can be said.
    if (error.code === 'ECONNRESET' || !socket.writable || connections.isMidAnswer(socket)) socket.destroy()
    else refusals.answerOn(socket, malformed(error))
  })
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    if (connections.answering(request, response)) refusals.answer(request, response, unknownExpectation)
  })
  // HTTP/2 has a response for it; HTTP/1 hands over the connection.
  server.on('connect', (request: IncomingMessage, to: ServerResponse | Socket) => {
    if ('writeHead' in to) refusals.answer(request, to, noTunnels)
    else refusals.answerOn(to, noTunnels)
  })
  // Whom to end, and when, is known here: Node's own would cut an answer that is still leaving, at its `close`.
  Object.assign(server, { closeIdleConnections: () => undefined })
  // No request outlives its turn's total time; a client that never takes its answer does not hold a socket for ever.
  server.setTimeout(config.timeouts.totalMs + config.timeouts.slowReaderMs)
  server.maxConnections = config.limits.connections
  await bind(server, { host, port: sharedPort ?? port, names: 'PORT', isShared: sharedPort !== null })
  const address = server.address() as AddressInfo
  return {
    url: `${tls === null ? 'http' : 'https'}://${shownHost(host)}:${address.port}`,
    async announceEnd(noticeMs) {
      quietMs = noticeMs / 2
      const from = clock.ticks()
      const nobody = connections.size === 0
      connections.announceEnd()
      if (nobody) return
      let busyAt = lookedMs
      while (clock.ticks() - from < noticeMs && lookedMs - busyAt < quietMs) {
        if (connections.isBusy(lookedMs, lookEveryMs)) busyAt = lookedMs
        await untilNextLook()
      }
    },
    async close() {
      await emptyBacklog(connections)
      server.close()
      while (connections.size > 0) {
        connections.endIdle(lookedMs, quietMs)
        await untilNextLook()
      }
    },
    endIdle() {
      setTimeout(() => connections.destroy(), farewellMs)
    },
  }
}

/**
 * What the kernel has taken for us is taken from it before closing, which would reset it. A turn of the loop takes one connection, so a few
 * without any say that there is none; where they never cease somebody must be refused.
 */
async function emptyBacklog(connections: Connections): Promise<void> {
  let taken = connections.taken
  for (let idle = 0, turns = 0; idle < idleTurns && turns < mostTurns; turns++) {
    await turn()
    idle = connections.taken === taken ? idle + 1 : 0
    taken = connections.taken
  }
}

const idleTurns = 3
const mostTurns = 10_000

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
): Http2SecureServer {
  const pair = { cert: readPem(tls.cert), key: readPem(tls.key) }
  try {
    createSecureContext(pair)
  } catch (error) {
    throw new ConfigError(`listen.tls: ${tls.cert} and ${tls.key} are no certificate and its key (${(error as Error).message}).`)
  }
  return createSecureServer(
    {
      // Of HTTP/1.1, which is served here as well.
      ...wireLimits,
      ...pair,
      allowHTTP1: true,
      handshakeTimeout: handshakeTimeoutMs,
      maxHeaderListPairs: 100,
      maxSessionInvalidFrames: 100,
      settings: { maxConcurrentStreams: 100, maxHeaderListSize: maxHeaderBytes, enablePush: false },
      // Rapid resets: a client may cancel as fast as it reads, not faster.
      streamResetBurst: 200,
      streamResetRate: 33,
    },
    // The compatibility request and response have all that we use.
    onRequest as unknown as Parameters<typeof createSecureServer>[1],
  )
}

function readPem(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new ConfigError(`listen.tls: ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'}).`)
  }
}

const headerTooLarge = fault(431, {
  en: `the header section is larger than ${maxHeaderBytes} bytes.`,
  zh: `请求头超过 ${maxHeaderBytes} 字节。`,
})
const unknownExpectation = fault(417, { en: 'this Expect is not known.', zh: '不支持该 Expect 请求头。' })
const noTunnels: Fault = { failure: new GatewayError('method_not_allowed') }

/** What the parser lets pass although no two readers of it would agree; null where there is nothing of the kind. */
function faultOf({ httpVersionMajor, httpVersionMinor, rawHeaders, url = '' }: IncomingMessage): Fault | null {
  if (httpVersionMajor >= 2) return oversized(rawHeaders)
  if (httpVersionMajor === 0) return fault(400, { en: 'the version of HTTP is missing.', zh: '缺少 HTTP 版本。' })
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === 'host') hosts++
  if (hosts > 1) return fault(400, { en: "the header 'Host' was sent more than once.", zh: "请求头 'Host' 重复发送。" })
  if (hosts === 0 && httpVersionMinor > 0) return fault(400, { en: "the header 'Host' is missing.", zh: "缺少请求头 'Host'。" })
  const wellFormed = /^(?:\/|\*$)/.test(url) || (/^https?:\/\/[^/?#]/i.test(url) && URL.canParse(url))
  return wellFormed
    ? null
    : fault(400, { en: 'the target is neither a path nor an address.', zh: '请求目标既不是路径也不是地址。' })
}

/** The limit that HTTP/2 lets a server announce is a wish; a peer that does not keep it is refused here. */
function oversized(rawHeaders: readonly string[]): Fault | null {
  let size = 0
  for (const text of rawHeaders) size += text.length
  return size > maxHeaderBytes ? headerTooLarge : null
}

/** What the parser refused. */
function malformed({ code }: NodeJS.ErrnoException): Fault {
  if (code === 'HPE_HEADER_OVERFLOW') return headerTooLarge
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return fault(408, { en: 'the request did not arrive in time.', zh: '请求未能及时到达。' })
  return fault(400, { en: 'the request is not well-formed HTTP.', zh: '请求不符合 HTTP 格式。' })
}
