/** What keeps us alive asks here: `/healthz`, `/readyz`, `/metrics`. */
import type { Router } from '../router.ts'
import type { AnswerOf } from '../../api/endpoint.ts'
import { aloneSentence } from '../../access/limits/elsewhere.ts'
import { health, metrics, readiness } from '../../api/operations.ts'
import { GatewayError } from '../../errors.ts'
import { hasToken } from '../bearer.ts'
import type { RouteParts } from '../route-parts.ts'
import { mount } from '../serve.ts'

export function operationRoutes(router: Router, parts: RouteParts): void {
  const { services, operations } = parts
  const { token } = services.config.metrics

  // No dependency: a probe that asked the database would turn one outage into two.
  mount(router, health, async (ctx) => {
    ctx.body = { ok: true } satisfies AnswerOf<typeof health>
  })

  mount(router, readiness, async (ctx) => {
    const reasons = [...(operations.isDraining() ? ['draining'] : []), ...(await operations.reasons())]
    ctx.status = reasons.length === 0 ? 200 : 503
    const { elsewhere } = services.limits
    const note = elsewhere === null ? null : aloneSentence(elsewhere.vitals)
    const ready = { ok: true, ...(note === null ? {} : { notes: [note] }) }
    ctx.body = reasons.length === 0 ? ready : { ok: false, reasons }
  })

  // Who connects says nothing here: a proxy on this machine brings the whole world in under the machine's own address.
  mount(router, metrics, async (ctx) => {
    if (!hasToken(ctx.headers, token)) throw new GatewayError('not_found')
    ctx.type = services.observe.metricsType
    ctx.body = await operations.metricsText()
  })
}
