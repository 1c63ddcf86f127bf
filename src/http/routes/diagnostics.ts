/** The diagnostic endpoints: what the gateway received of a request, and a stream whose delays a client can measure. */
import type { BlockList } from 'node:net'
import type { Context } from 'koa'
import type { Router } from '../../system/vendor/koa-router.ts'
import { parseBearerToken } from '../../access/bearer.ts'
import { isDiagnosticToken } from '../../access/diagnostic-token.ts'
import { diagnoseBody, diagnoseRequest, diagnoseStream } from '../../api/diagnostics.ts'
import type { ResponseOf } from '../../api/endpoint.ts'
import { GatewayError } from '../../errors.ts'
import { toRequestIdHeaders } from '../../exchange/envelope.ts'
import { adoptRequestId } from '../../exchange/request-id.ts'
import { openStream } from '../../exchange/response-headers.ts'
import type { Services } from '../../services/services.ts'
import { parseNetworks } from '../../system/cidr.ts'
import { mount } from '../endpoint-handler.ts'
import { findPublicOrigin } from '../proxy-warnings.ts'
import { isInNetworks, normalizeAddress } from '../request/client-ip.ts'
import type { BodyOwner } from '../../access/limits/body-budget.ts'
import { readChunks } from '../request/read-body.ts'
import { getExchange } from '../request-context.ts'
import type { RequestState } from '../request-context.ts'
import { bypassKoa } from '../response/response-writer.ts'
import type { RouteDeps } from '../route-deps.ts'

const eventCount = 5
const eventIntervalMs = 300
/** More addresses than any chain of proxies has. */
const maxHops = 32

export function mountDiagnosticRoutes(router: Router, { services }: RouteDeps): void {
  const trustedProxies = parseNetworks(services.config.listen.trustedProxies)

  mount(router, diagnoseRequest, async (ctx) => {
    requireDiagnosticToken(ctx, services)
    ctx.body = createReport(ctx, { trusted: trustedProxies, services, bodyBytes: 0 })
  })

  mount(router, diagnoseBody, async (ctx) => {
    requireDiagnosticToken(ctx, services)
    const owner: BodyOwner = { kind: 'account', id: 'operator' }
    const body = await readChunks(ctx.req, { maxBytes: services.config.limits.chatBodyBytes, owner, services })
    body.release()
    const bodyBytes = body.bytes
    ctx.body = createReport(ctx, { trusted: trustedProxies, services, bodyBytes })
  })

  mount(router, diagnoseStream, async (ctx) => {
    requireDiagnosticToken(ctx, services)
    const exchange = getExchange(ctx, 'unmetered', services)
    adoptRequestId(exchange)
    const client = bypassKoa(ctx)
    openStream({ client, headers: () => toRequestIdHeaders(exchange) })
    for (let eventNumber = 1; eventNumber <= eventCount && !client.disconnected; eventNumber += 1) {
      if (eventNumber > 1) await services.clock.wait(eventIntervalMs)
      client.write(`data: ${eventNumber}\n\n`)
    }
    client.end()
  })
}

/** Without a valid token these paths do not exist. */
function requireDiagnosticToken(ctx: Context, { secret, clock }: Pick<Services, 'clock' | 'secret'>): void {
  ctx.set('cache-control', 'no-store')
  const token = parseBearerToken(ctx.get('authorization'))
  if (!isDiagnosticToken(token, secret, clock.now())) throw new GatewayError('not_found')
}

interface ReportInput {
  readonly trusted: BlockList
  readonly services: Services
  readonly bodyBytes: number
}

function createReport(ctx: Context, { trusted, services, bodyBytes }: ReportInput): ResponseOf<typeof diagnoseRequest> {
  const { listen, limits } = services.config
  const { req } = ctx
  const readHeader = (name: string): string | null => ctx.get(name) || null
  const toHop = (text: string) => {
    const address = normalizeAddress(text.trim())
    return { address, isTrusted: isInNetworks(address, trusted) }
  }
  const { address } = ctx.state as RequestState
  return {
    httpVersion: req.httpVersion,
    scheme: 'encrypted' in req.socket && req.socket.encrypted === true ? 'https' : 'http',
    host: ctx.host,
    peer: toHop(req.socket.remoteAddress ?? ''),
    peerPort: req.socket.remotePort ?? 0,
    clientAddress: address,
    forwardedFor: (readHeader('x-forwarded-for')?.split(',') ?? []).slice(-maxHops).map(toHop),
    forwardedProto: readHeader('x-forwarded-proto'),
    publicOrigin: findPublicOrigin(req.headers),
    forwardedHost: readHeader('x-forwarded-host'),
    forwardedServer: readHeader('x-forwarded-server'),
    forwardedPort: readHeader('x-forwarded-port'),
    via: readHeader('via'),
    siteUrl: listen.siteUrl,
    baseUrl: listen.baseUrl,
    maxBodyBytes: limits.chatBodyBytes,
    bodyBytes,
  }
}
