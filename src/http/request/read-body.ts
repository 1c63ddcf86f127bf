/** Reads a request's body: uncompressed JSON up to a limit, or an error. */
import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import { GatewayError, invalidRequest } from '../../errors.ts'
import { parseBody, workerThresholdBytes } from '../../exchange/request/chat-request.ts'
import { concatChunks, ChunkList } from '../../system/chunk-list.ts'
import { sliceBytes } from '../../system/body-read-scheduler.ts'
import type { BodyReadScheduler } from '../../system/body-read-scheduler.ts'

type Request = IncomingMessage | Http2ServerRequest

/** @throws GatewayError `unsupported_media_type`, `payload_too_large`, or `invalid_request` */
export async function readBody(request: Request, maxBytes: number): Promise<Buffer> {
  return concatChunks(await readChunks(request, maxBytes))
}

/** The same in chunks, for callers that pass them on. Bodies above the worker threshold yield to small requests through `scheduler`. */
export function readChunks(request: Request, maxBytes: number, scheduler?: BodyReadScheduler): Promise<readonly Buffer[]> {
  requireJson(request)
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.reject(createTooLargeError(maxBytes))
  return new Promise((resolve, reject) => {
    const chunks = new ChunkList()
    let size = 0
    let bytesInSlice = 0
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      if (size <= maxBytes) {
        chunks.add(chunk)
        bytesInSlice += chunk.length
        if (size > workerThresholdBytes && bytesInSlice >= sliceBytes) {
          bytesInSlice = 0
          scheduler?.yieldSlice(request)
        }
        return
      }
      abort(createTooLargeError(maxBytes))
    }
    const abort = (reason: Error): void => {
      scheduler?.endRead(abort)
      request.off('data', onData)
      // The rest is discarded.
      request.resume()
      reject(reason)
    }
    // Has no effect after the end. `complete` means that all bytes have arrived, not that they will be read.
    const onAborted = (): void => {
      scheduler?.endRead(abort)
      reject(invalidRequest({ en: 'the body ended before it was whole.', zh: '请求内容不完整，传输提前结束。' }))
    }
    // A request that is already destroyed emits no further 'close'.
    if (request.destroyed) return onAborted()
    scheduler?.beginRead(abort)
    request.on('data', onData)
    request.on('end', () => {
      // Every request closes, and an error with its stack is a thirtieth of a turn's work in this thread.
      request.off('close', onAborted)
      scheduler?.endRead(abort)
      if (size <= workerThresholdBytes) scheduler?.noteSmallRequest()
      resolve(chunks.chunks)
    })
    request.on('error', onAborted)
    request.on('close', onAborted)
  })
}

/** Reads a JSON object. @throws GatewayError */
export async function readJson(request: Request, maxBytes: number): Promise<Record<string, unknown>> {
  return parseBody(await readBody(request, maxBytes))
}

function requireJson({ headers }: Request): void {
  const type = (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (type !== 'application/json' && !type.endsWith('+json')) throw new GatewayError('unsupported_media_type')
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
