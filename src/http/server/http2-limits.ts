/**
 * Limits that node:http2 lacks: it has no `requestTimeout`, `headersTimeout` or `keepAliveTimeout`, and it ends a whole connection for the
 * error of one stream.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, ServerHttp2Session } from 'node:http2'
import { constants } from 'node:http2'
import type { Clock } from '../../system/clock.ts'

/** How long a client may take, over HTTP/1.1 and HTTP/2 alike, so that slow senders cannot hold connections. */
export interface ProtocolTimeouts {
  /** From the connection to the end of the first header section. */
  readonly headersMs: number
  /** From the begin of a request to its end. */
  readonly requestMs: number
  /** From the last response to the next request. */
  readonly keepAliveMs: number
}

/** Time for the peer to close its side, and for a stream to end after its error. */
const closeGraceMs = 250
/** nghttp2's NGHTTP2_ERR_PROTO. */
const protocolError = -505

/** Closes a session that has no open stream for too long, whatever frames its client sends meanwhile. */
export function limitIdleSession(session: ServerHttp2Session, { headersMs, keepAliveMs }: ProtocolTimeouts, clock: Clock): void {
  let openStreams = 0
  const close = (): void => {
    session.close()
    clock.after(closeGraceMs, () => session.destroy()).unref()
  }
  let timer = clock.after(headersMs, close)
  session.on('stream', (stream) => {
    openStreams++
    timer.cancel()
    stream.once('close', () => {
      if (--openStreams === 0 && !session.destroyed) timer = clock.after(keepAliveMs, close)
    })
  })
  session.on('close', () => timer.cancel())
}

/** Resets the stream of a request that has not arrived completely in time. `onTimeout` answers it where no response has begun. */
export function limitRequestTime(
  request: IncomingMessage,
  response: ServerResponse,
  { timeoutMs, clock, onTimeout }: { readonly timeoutMs: number; readonly clock: Clock; readonly onTimeout: () => void },
): void {
  const { stream } = request as unknown as Http2ServerRequest
  if (stream.endAfterHeaders) return
  const timer = clock.after(timeoutMs, () => {
    if (stream.state.state === constants.NGHTTP2_STREAM_STATE_HALF_CLOSED_REMOTE) return
    if (response.headersSent) stream.close(constants.NGHTTP2_CANCEL)
    else onTimeout()
  })
  stream.once('close', () => timer.cancel())
}

/**
 * Keeps a session whose client violates the protocol in one stream, as by more data than its content-length: nghttp2 resets that stream
 * by itself, but Node destroys the session, and with it the turns in other streams. A violation of the session itself resets no stream;
 * then the session ends.
 */
export function confineStreamErrors(session: ServerHttp2Session, clock: Clock): void {
  const destroy = session.destroy.bind(session)
  let resetStreams = 0
  session.on('stream', (stream) => {
    stream.once('close', () => {
      if (stream.rstCode === constants.NGHTTP2_PROTOCOL_ERROR) resetStreams++
    })
  })
  const destroyUnlessConfined: typeof session.destroy = (error, code) => {
    if ((error as NodeJS.ErrnoException | undefined)?.errno !== protocolError) return destroy(error, code)
    const before = resetStreams
    clock
      .after(closeGraceMs, () => {
        if (resetStreams === before) destroy(error, code)
      })
      .unref()
  }
  session.destroy = destroyUnlessConfined
}
