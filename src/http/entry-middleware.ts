/**
 * The entry middleware: every request passes it first and every response last. It consumes the rate limit of the client's address, and
 * renders every error as the envelope. Rules for all routes are enforced here and nowhere else.
 */
import type { Context, Middleware, Next } from 'koa'
import { toRateLimitHeaders } from '../access/limits/limits.ts'
import type { RateDecision } from '../access/limits/limits.ts'
import { getPaths } from '../api/endpoint.ts'
import { health, readiness } from '../api/operations.ts'
import { GatewayError } from '../errors.ts'
import { toEnvelopeReply, toRequestIdHeaders } from '../exchange/envelope.ts'
import { toFailure } from '../exchange/exchange.ts'
import { adoptRequestId } from '../exchange/request-id.ts'
import type { Services } from '../services/services.ts'
import { parseNetworks } from '../system/cidr.ts'
import { resolveClientIp, toAddressPrefix } from './request/client-ip.ts'
import { getExchange } from './request-context.ts'
import { recordRequest } from './request-log.ts'
import type { RequestState } from './request-context.ts'
import { destroyResponse } from './response/response-writer.ts'
import { createProxyWarnings } from './proxy-warnings.ts'

export function createEntryMiddleware(services: Services): Middleware {
  const trustedProxies = parseNetworks(services.config.listen.trustedProxies)
  const warnAboutProxy = createProxyWarnings(trustedProxies, services)
  return async (ctx: Context, next: Next) => {
    const { req } = ctx
    const peer = req.socket?.remoteAddress
    const forwardedFor = req.headers['x-forwarded-for']
    const isProbe = probePaths.has(ctx.path)
    warnAboutProxy({ peer, headers: req.headers, isProbe })
    const state: RequestState = { address: resolveClientIp(peer, forwardedFor, trustedProxies) }
    ctx.state = state
    try {
      if (!isProbe) {
        const decision = consumeAddressLimit(state.address, services)
        assertAllowed(decision instanceof Promise ? await decision : decision)
      }
      await next()
      if (ctx.respond === false) return
      if (ctx.status === 404 && ctx.body == null) throw new GatewayError('not_found')
      const x = getExchange(ctx, 'unmetered', services)
      adoptRequestId(x)
      ctx.set(toRequestIdHeaders(x))
      recordRequest(ctx, undefined, services)
    } catch (thrown) {
      const failure = toFailure(thrown)
      const x = getExchange(ctx, 'unmetered', services)
      if (failure.code === 'internal_error') services.telemetry.recordInternalError(x, failure)
      if (ctx.res.headersSent) {
        destroyResponse(ctx.res)
        return
      }
      adoptRequestId(x)
      const reply = toEnvelopeReply(x, failure)
      ctx.status = reply.status
      ctx.set(reply.headers)
      ctx.body = reply.body
      recordRequest(ctx, failure.code, services)
    }
  }
}

/** Probes keep the process in service; a rate limit on them would take it down under load. */
const probePaths: ReadonlySet<string> = new Set([...getPaths(health), ...getPaths(readiness)])

function consumeAddressLimit(
  address: string,
  { limits, clock, config }: Pick<Services, 'clock' | 'config' | 'limits'>,
): RateDecision | Promise<RateDecision> {
  return limits.byAddress.consume(toAddressPrefix(address), config.limits.addressRpm, clock.monotonicMs())
}

function assertAllowed(decision: RateDecision): void {
  if (decision.allowed) return
  const seconds = decision.retryAfterMs / 1000
  throw new GatewayError('rate_limited', {
    retryAfter: seconds,
    headers: toRateLimitHeaders('address', decision),
    ...(seconds > 60 ? { shouldRetry: false } : {}),
  })
}
