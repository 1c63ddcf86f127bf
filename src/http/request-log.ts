/** Records requests of membership and OAuth endpoints; turns and other requests of the plugin chain are recorded at its end. */
import type { Context } from 'koa'
import type { Services } from '../services/services.ts'
import { toAddressPrefix } from './request/client-ip.ts'
import { getExchange } from './request-context.ts'
import type { RequestState } from './request-context.ts'

const recordedPaths = /^\/(?:api\/membership|api\/operator\/v1|oauth|connect)\//

/** @param errorCode the code of the envelope, or undefined where OAuth has its own body or the request succeeded */
export function recordRequest(ctx: Context, errorCode: string | undefined, services: Services): void {
  if (!recordedPaths.test(ctx.path)) return
  services.telemetry.recordRequest(getExchange(ctx, 'unmetered', services), {
    endpoint: getEndpointLabel(ctx),
    status: ctx.status,
    errorCode: errorCode ?? getOAuthError(ctx.body),
    address: toAddressPrefix((ctx.state as RequestState).address),
  })
}

/** The path with placeholders; one label for paths without a route, and for requests refused before routing. */
function getEndpointLabel(ctx: Context): string {
  const { _matchedRoute: route } = ctx as Context & { readonly _matchedRoute?: unknown }
  if (typeof route !== 'string') return 'none'
  return route.replace('/api/membership/v1/', '/api/membership/').replaceAll(/:(\w+)/g, '{$1}')
}

/** RFC 6749, 5.2. */
function getOAuthError(body: unknown): string | undefined {
  return typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string' ? body.error : undefined
}
