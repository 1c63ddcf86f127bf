/** Cross-origin use of the API from web pages: open, because it works by Bearer alone, and never with credentials. */
import type { Middleware } from 'koa'
import type { Services } from '../gateway/services.ts'

/** On `/v1` but not on the tool server, whose protocol demands that foreign pages be refused. */
export function cors({ names }: Pick<Services, 'names'>): Middleware {
  const exposed = [
    'x-request-id',
    names.requestIdHeader,
    names.errorCodeHeader,
    names.errorStageHeader,
    names.quotaClampedHeader,
    names.quotaResetHeader,
    names.fieldsDroppedHeader,
    'retry-after',
    'x-should-retry',
    'x-ratelimit-limit-requests',
    'x-ratelimit-remaining-requests',
    'x-ratelimit-reset-requests',
    'ratelimit',
    'ratelimit-policy',
  ].join(', ')
  return (ctx, next) => {
    const { path } = ctx
    // A browser that shows an image names no origin, and keeps the answer for the page that fetches the same image later.
    if (ctx.req.headers.origin === undefined && !path.startsWith('/v1/images/')) return next()
    if (!path.startsWith('/v1/') || path === '/v1/mcp' || path.startsWith('/v1/mcp/')) return next()
    // Set on the raw response as well, because a streamed answer is written past Koa.
    ctx.set('access-control-allow-origin', '*')
    ctx.set('access-control-expose-headers', exposed)
    if (ctx.method !== 'OPTIONS' || ctx.headers['access-control-request-method'] === undefined) return next()
    ctx.set('access-control-allow-methods', 'GET, POST, OPTIONS')
    ctx.set('access-control-allow-headers', ctx.get('access-control-request-headers') || '*')
    ctx.set('access-control-max-age', '600')
    ctx.vary('access-control-request-headers')
    ctx.status = 204
    return undefined
  }
}
