/** CORS for the API: open to all origins, because it authenticates by Bearer alone, and never with credentials. */
import type { Middleware } from 'koa'
import type { Services } from '../../services/services.ts'

/** Applies to `/v1` and `/v1beta` except the MCP server, whose protocol requires that foreign origins are refused. */
export function cors({ names }: Pick<Services, 'names'>): Middleware {
  const exposedHeaders = [
    'x-request-id',
    'request-id',
    names.requestIdHeader,
    names.errorCodeHeader,
    names.errorStageHeader,
    'link',
    names.quotaClampedHeader,
    names.quotaResetHeader,
    names.quotaChargedHeader,
    names.quotaTierHeader,
    names.quotaRemainingHeader,
    names.quotaWindowHeader,
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
    // A browser that shows an image sends no Origin, and caches the response for a page that fetches the same image later.
    if (ctx.req.headers.origin === undefined && !path.startsWith('/v1/images/')) return next()
    if (!/^\/v1(?:beta)?\//.test(path) || path === '/v1/mcp' || path.startsWith('/v1/mcp/')) return next()
    // Koa sets it on the raw response as well, which streamed responses use directly.
    ctx.set('access-control-allow-origin', '*')
    ctx.set('access-control-expose-headers', exposedHeaders)
    if (ctx.method !== 'OPTIONS' || ctx.headers['access-control-request-method'] === undefined) return next()
    ctx.set('access-control-allow-methods', 'GET, POST, OPTIONS')
    ctx.set('access-control-allow-headers', ctx.get('access-control-request-headers') || '*')
    ctx.set('access-control-max-age', '600')
    ctx.vary('access-control-request-headers')
    ctx.status = 204
    return undefined
  }
}
