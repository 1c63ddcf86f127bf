/** Reads a request's body: uncompressed JSON up to a limit, or an error. */
import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import { GatewayError, invalidRequest } from '../../errors.ts'
import { parseBody, workerThresholdBytes } from '../../exchange/request/chat-request.ts'
import { concatChunks, ChunkList } from '../../system/memory/chunk-list.ts'
import { sliceBytes } from '../../system/body-reads/body-read-scheduler.ts'
import type { BodyRead, BodyReadScheduler } from '../../system/body-reads/body-read-scheduler.ts'
import type { BodyOwner, BodyReservation } from '../../access/limits/body-budget.ts'
import type { Services } from '../../services/services.ts'
import { toAddressPrefix } from './client-ip.ts'

type Request = IncomingMessage | Http2ServerRequest

export interface BodyReadOptions {
  readonly maxBytes: number
  /** JSON by default; `any` for what is not parsed here. */
  readonly mediaType?: 'application/x-www-form-urlencoded' | 'any'
  /** Whose budget the body counts in. */
  readonly owner: BodyOwner
  readonly services: Pick<Services, 'bodyScheduler'> & { readonly limits: Pick<Services['limits'], 'bodies'> }
}

/** A body, which counts in its owner's budget until it is released. */
export interface ReceivedBody {
  readonly chunks: readonly Buffer[]
  readonly bytes: number
  /** Its bytes are no longer needed, or became what is counted elsewhere. */
  release(): void
}

/** The client's network, for a body that arrives without an account. */
export function toAddressOwner(address: string): BodyOwner {
  return { kind: 'address', id: toAddressPrefix(address) }
}

/**
 * @throws GatewayError `unsupported_media_type`, `payload_too_large`, `invalid_request`; `rate_limited` or `temporarily_unavailable` if too
 * many bytes are being received
 */
export async function readBody(request: Request, options: BodyReadOptions): Promise<Buffer> {
  const body = await readChunks(request, options)
  body.release()
  return concatChunks(body.chunks)
}

/** The same in chunks, for callers that pass them on. Bodies above the worker threshold yield to small requests. */
export async function readChunks(
  request: Request,
  { maxBytes, mediaType, owner, services }: BodyReadOptions,
): Promise<ReceivedBody> {
  requireMediaType(request, mediaType)
  const declaredBytes = readDeclaredBytes(request)
  if (declaredBytes !== null && declaredBytes > maxBytes) throw createTooLargeError(maxBytes)
  const reservation = services.limits.bodies.reserve(owner, declaredBytes ?? 0)
  return receiveChunks(request, { maxBytes, declaredBytes, reservation, scheduler: services.bodyScheduler })
}

interface ReceiveOptions extends Pick<BodyReadOptions, 'maxBytes'> {
  readonly declaredBytes: number | null
  readonly reservation: BodyReservation
  readonly scheduler: BodyReadScheduler
}

function receiveChunks(
  request: Request,
  { maxBytes, declaredBytes, reservation, scheduler }: ReceiveOptions,
): Promise<ReceivedBody> {
  return new Promise((resolve, rejectBody) => {
    let isReceived = false
    const reject = (reason: Error): void => {
      // A connection that is lost afterwards ends no body that waits to be parsed.
      if (!isReceived) reservation.release()
      rejectBody(reason)
    }
    const chunks = new ChunkList({ ownsChunks: true })
    let bytesInSlice = 0
    const onData = (chunk: Buffer): void => {
      bodyRead.receivedBytes += chunk.length
      if (bodyRead.receivedBytes > maxBytes) return bodyRead.abort(createTooLargeError(maxBytes))
      try {
        reservation.grow(bodyRead.receivedBytes - reservation.bytes)
      } catch (error) {
        return bodyRead.abort(error as Error)
      }
      bytesInSlice += chunk.length
      // This may free the chunk.
      chunks.add(chunk)
      if (bodyRead.receivedBytes > workerThresholdBytes && bytesInSlice >= sliceBytes) {
        bytesInSlice = 0
        scheduler.yieldSlice(request)
      }
    }
    const bodyRead: BodyRead = {
      listIndex: -1,
      declaredBytes,
      receivedBytes: 0,
      abort(reason) {
        scheduler.endRead(bodyRead)
        request.off('data', onData)
        // The rest is discarded.
        request.resume()
        reject(reason)
      },
    }
    // Has no effect after the end. `complete` means that all bytes have arrived, not that they will be read.
    const onAborted = (): void => {
      scheduler.endRead(bodyRead)
      reject(invalidRequest({ en: 'the body ended before it was whole.', zh: '请求内容不完整，传输提前结束。' }))
    }
    // A request that is already destroyed emits no further 'close'.
    if (request.destroyed) return onAborted()
    scheduler.beginRead(bodyRead)
    request.on('data', onData)
    request.on('end', () => {
      // Every request closes, and an error with its stack is a thirtieth of a turn's work in this thread.
      request.off('close', onAborted)
      scheduler.endRead(bodyRead)
      if (bodyRead.receivedBytes <= workerThresholdBytes) scheduler.noteSmallRequest()
      isReceived = true
      resolve({ chunks: chunks.chunks, bytes: bodyRead.receivedBytes, release: () => reservation.release() })
    })
    request.on('error', onAborted)
    request.on('close', onAborted)
  })
}

/**
 * Reserves a body that a library reads by itself: its declared length, or `maxBytes` if it is chunked, until it has been received.
 * @throws GatewayError like `readBody`
 */
export function reserveForeignBody(request: Request, { maxBytes, owner, services }: BodyReadOptions): void {
  const reservation = services.limits.bodies.reserve(owner, Math.min(maxBytes, readDeclaredBytes(request) ?? maxBytes))
  for (const event of ['end', 'close'] as const) request.once(event, () => reservation.release())
}

/** A body that arrives too slowly, or not at all. */
export function createSlowBodyError(): GatewayError {
  return invalidRequest({ en: 'the body did not arrive in time.', zh: '请求内容未能及时到达。' })
}

/** Longer than what a person types into a form of ours. */
const maxFormBytes = 16 * 1024

/** Reads the fields of a form. @throws GatewayError like `readBody` */
export async function readForm(request: Request, options: BodyReadOptions): Promise<URLSearchParams> {
  const maxBytes = Math.min(maxFormBytes, options.maxBytes)
  const body = await readBody(request, { ...options, maxBytes, mediaType: 'application/x-www-form-urlencoded' })
  return new URLSearchParams(body.toString())
}

/** Reads a JSON object. @throws GatewayError */
export async function readJson(request: Request, options: BodyReadOptions): Promise<Record<string, unknown>> {
  return parseBody(await readBody(request, options))
}

/** Null for a chunked body. HTTP/2 passes on any text as the length. */
function readDeclaredBytes({ headers }: Request): number | null {
  const length = headers['content-length']
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : null
}

function requireMediaType({ headers }: Request, mediaType: BodyReadOptions['mediaType']): void {
  const type = (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const isJson = type === 'application/json' || type.endsWith('+json')
  const isExpected = mediaType === undefined ? isJson : mediaType === 'any' || type === mediaType
  if (!isExpected) throw new GatewayError('unsupported_media_type')
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw new GatewayError('unsupported_media_type', {
      message: { en: 'Send the body uncompressed, as application/json.', zh: '请以未压缩的 application/json 发送请求。' },
    })
  }
}

function createTooLargeError(maxBytes: number): GatewayError {
  return new GatewayError('payload_too_large', {
    message: {
      en: `The request body is too large; ${maxBytes} bytes are allowed.`,
      zh: `请求内容过大，最多允许 ${maxBytes} 字节。`,
    },
  })
}
