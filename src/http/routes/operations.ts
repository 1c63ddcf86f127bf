/** What keeps us alive asks here: `/healthz`, `/readyz`, `/metrics`. */
import type { Router } from '../router.ts'
import type { AnswerOf } from '../../api/endpoint.ts'
import { health, metrics, readiness } from '../../api/operations.ts'
import { GatewayError } from '../../errors.ts'
import { hasToken } from '../bearer.ts'
import type { RouteParts } from '../route-parts.ts'
import { mount } from '../serve.ts'

/** More operations waiting for the writer than this, and new turns only make it worse. */
const fullQueue = 5_000

export function operationRoutes(router: Router, parts: RouteParts): void {
  const { services } = parts
  const { token } = services.config.metrics

  // No dependency: a probe that asked the database would turn one outage into two.
  mount(router, health, async (ctx) => {
    ctx.body = { ok: true } satisfies AnswerOf<typeof health>
  })

  mount(router, readiness, async (ctx) => {
    const { writable, queue, trouble, owed, owedSince } = services.ledger.vitals()
    const reasons = [
      !parts.ready() && 'draining',
      !writable && 'the ledger cannot be written',
      trouble ?? false,
      queue > fullQueue && 'the ledger is behind',
      owedSince !== null && `${owed} settlements are owed to the ledger since ${new Date(owedSince).toISOString()}`,
    ]
    const because = reasons.filter((reason) => reason !== false)
    ctx.status = because.length === 0 ? 200 : 503
    ctx.body = because.length === 0 ? { ok: true } : { ok: false, reasons: because }
  })

  // Who connects says nothing here: a proxy on this machine brings the whole world in under the machine's own address.
  mount(router, metrics, async (ctx) => {
    if (!hasToken(ctx.headers, token)) throw new GatewayError('not_found')
    ctx.type = services.observe.metricsType
    ctx.body = await services.observe.metricsText()
  })
}
