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
    const { database, isDraining } = operations
    // First, because it may take its time: the reasons are those of the moment of the answer.
    const found = database !== null && hasToken(ctx.headers, token) ? await database.findings() : null
    const reasons = [...(isDraining() ? ['draining'] : []), ...(await operations.reasons())]
    const { elsewhere } = services.limits
    const alone = elsewhere === null ? null : aloneSentence(elsewhere.vitals)
    const notes = [...(alone === null ? [] : [alone]), ...(database?.notes() ?? [])]
    const told = { ...(notes.length > 0 && { notes }), ...(found !== null && { database: found }) }
    ctx.status = reasons.length === 0 ? 200 : 503
    ctx.body = reasons.length === 0 ? { ok: true, ...told } : { ok: false, reasons, ...told }
  })

  // Who connects says nothing here: a proxy on this machine brings the whole world in under the machine's own address.
  mount(router, metrics, async (ctx) => {
    if (!hasToken(ctx.headers, token)) throw new GatewayError('not_found')
    ctx.type = services.observe.metricsType
    ctx.body = await operations.metricsText()
  })
}
