/** Health and operation endpoints: `/healthz`, `/readyz`, `/metrics`. */
import type { Router } from '../../system/vendor/koa-router.ts'
import type { ResponseOf } from '../../api/endpoint.ts'
import { describeFallback } from '../../access/limits/distributed.ts'
import { health, metrics, readiness } from '../../api/operations.ts'
import { GatewayError } from '../../errors.ts'
import { hasBearerToken } from '../../access/bearer.ts'
import type { RouteDeps } from '../route-deps.ts'
import { mount } from '../endpoint-handler.ts'

/** Notes are public, so it names no upstream. */
const unreadModelsNote =
  'models: the model list of an upstream cannot be read yet, and turns that need it fail; `svc-gateway doctor` names the upstream'

export function mountOperationRoutes(router: Router, deps: RouteDeps): void {
  const { services, operations } = deps
  const { token } = services.config.metrics

  // Liveness has no dependency: with the database in it, a database outage would also restart the processes.
  mount(router, health, async (ctx) => {
    ctx.body = { ok: true } satisfies ResponseOf<typeof health>
  })

  mount(router, readiness, async (ctx) => {
    const { database, isDraining } = operations
    // Checked first, because it may take time: the reasons must be those at the moment of the response.
    const checks = database !== null && hasBearerToken(ctx.headers, token) ? await database.runChecks() : null
    const reasons = [...(isDraining() ? ['draining'] : []), ...(await operations.notReadyReasons())]
    const { distributed } = services.limits
    const mailNote = await operations.mailNote()
    const fallbackNote = distributed === null ? null : describeFallback(distributed.stats)
    const notes = [
      ...(fallbackNote === null ? [] : [fallbackNote]),
      ...(mailNote === null ? [] : [mailNote]),
      ...(services.upstreams.unreadModelLists.size === 0 ? [] : [unreadModelsNote]),
      ...(database?.getNotes() ?? []),
    ]
    const details = { ...(notes.length > 0 && { notes }), ...(checks !== null && { database: checks }) }
    ctx.status = reasons.length === 0 ? 200 : 503
    ctx.body = reasons.length === 0 ? { ok: true, ...details } : { ok: false, reasons, ...details }
  })

  // The peer address grants nothing here: a proxy on this machine sends all requests from the machine's own address.
  mount(router, metrics, async (ctx) => {
    if (!hasBearerToken(ctx.headers, token)) throw new GatewayError('not_found')
    ctx.type = services.telemetry.metricsType
    ctx.body = await operations.metricsText()
  })
}
