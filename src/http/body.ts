/** A request's body: bounded, JSON, whole. */
import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import { GatewayError, invalidRequest } from '../errors.ts'
import { isRecord, largeBytes } from '../exchange/chat-request.ts'
import { inOnePiece, Parts } from '../system/parts.ts'
import { pieceBytes } from './in-turn.ts'
import type { InTurn } from './in-turn.ts'

type Request = IncomingMessage | Http2ServerRequest

/** @throws GatewayError `unsupported_media_type`, `payload_too_large`, or `invalid_request` */
export async function readBody(request: Request, limit: number): Promise<Buffer> {
  return inOnePiece(await readChunks(request, limit))
}

/** The same as it came, for whoever hands it on; what is long waits its turn, where there are any. */
export function readChunks(request: Request, limit: number, inTurn?: InTurn): Promise<readonly Buffer[]> {
  requireJson(request)
  if (Number(request.headers['content-length'] ?? 0) > limit) return Promise.reject(tooLarge(limit))
  return new Promise((resolve, reject) => {
    const chunks = new Parts()
    let size = 0
    let inThisTurn = 0
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      if (size <= limit) {
        chunks.add(chunk)
        inThisTurn += chunk.length
        if (size > largeBytes && inThisTurn >= pieceBytes) {
          inThisTurn = 0
          inTurn?.next(request)
        }
        return
      }
      request.off('data', onData)
      // What is still coming is let go unread; the answer closes the connection.
      request.resume()
      reject(tooLarge(limit))
    }
    // After its end this changes nothing. That a request is `complete` says that all of it has come in, and not that it will be read.
    const onCut = (): void =>
      reject(invalidRequest({ en: 'the body ended before it was whole.', zh: '请求内容不完整,传输提前结束。' }))
    // Who has left already is not heard leaving again.
    if (request.destroyed) return onCut()
    request.on('data', onData)
    request.on('end', () => {
      if (size <= largeBytes) inTurn?.hasOthers()
      resolve(chunks.all)
    })
    request.on('error', onCut)
    request.on('close', onCut)
  })
}

/** A JSON object. @throws GatewayError */
export async function readJson(request: Request, limit: number): Promise<Record<string, unknown>> {
  const raw = await readBody(request, limit)
  if (raw.length === 0)
    throw invalidRequest({ en: 'the body is empty; send a JSON object.', zh: '请求内容为空,请发送 JSON 对象。' })
  let value: unknown
  try {
    value = JSON.parse(raw.toString('utf8'))
  } catch {
    throw invalidRequest({ en: 'the body is not JSON.', zh: '请求内容不是有效的 JSON。' })
  }
  if (!isRecord(value)) throw invalidRequest({ en: 'the body must be a JSON object.', zh: '请求内容必须是 JSON 对象。' })
  return value
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

function tooLarge(limit: number): GatewayError {
  return new GatewayError('payload_too_large', {
    message: { en: `The request body is too large; ${limit} bytes are allowed.`, zh: `请求内容过大,最多允许 ${limit} 字节。` },
  })
}
