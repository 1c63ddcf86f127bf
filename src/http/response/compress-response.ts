/**
 * Compresses the website's text responses: pages, JSON of the membership API, generated files. Assets are compressed by their own route.
 *
 * A page that shows a secret beside text from its own address could be guessed by the length of the compressed page. Pages hold no such
 * secret: tokens are in cookies, and the response that shows a new key answers a POST, which is sent as it is.
 */
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Context, Middleware } from 'koa'
import { chooseEncoding } from './choose-encoding.ts'

const compressBrotli = promisify(brotliCompress)
const compressGzip = promisify(gzip)

/** A shorter body is not smaller by a packet. */
const minBytes = 1_000

/** A page of 20 KB takes half a millisecond at this quality, in a thread of the pool, and is 5 % longer than at the highest. */
const brotliQuality = 5

export function compressResponses(): Middleware {
  return async (ctx, next) => {
    await next()
    const text = readText(ctx)
    if (text === null) return
    ctx.vary('accept-encoding')
    if (Buffer.byteLength(text) < minBytes) return
    const encoding = chooseEncoding(ctx)
    if (encoding === null) return
    // The type that Koa has derived from the text or object stays.
    const type = ctx.res.getHeader('content-type')
    const { status } = ctx
    ctx.body =
      encoding === 'br'
        ? await compressBrotli(text, {
            params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality, [constants.BROTLI_PARAM_SIZE_HINT]: text.length },
          })
        : await compressGzip(text)
    ctx.status = status
    if (type !== undefined) ctx.res.setHeader('content-type', type)
    ctx.set('content-encoding', encoding)
  }
}

/** The body of a response that may be compressed, as text; null for any other. */
function readText(ctx: Context): string | null {
  if (ctx.method !== 'GET' || ctx.respond === false || ctx.res.hasHeader('content-encoding')) return null
  const { body } = ctx
  if (typeof body === 'string') return body
  const isJson =
    typeof body === 'object' && body !== null && (Array.isArray(body) || Object.getPrototypeOf(body) === Object.prototype)
  return isJson ? JSON.stringify(body) : null
}
