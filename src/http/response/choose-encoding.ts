/** The content encoding of a response: Brotli where the client accepts it, although browsers name gzip first. */
import type { Context } from 'koa'

export function chooseEncoding(ctx: Pick<Context, 'acceptsEncodings'>): 'br' | 'gzip' | null {
  if (ctx.acceptsEncodings('br') === 'br') return 'br'
  return ctx.acceptsEncodings('gzip') === 'gzip' ? 'gzip' : null
}
