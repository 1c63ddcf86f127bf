/** What keeps the service alive asks here. */
import { z } from 'zod'
import { endpoint } from './endpoint.ts'

const up = z.strictObject({ ok: z.literal(true) })
const finding = z.strictObject({ what: z.string(), ok: z.boolean(), detail: z.string() })
/** Beside the answer itself, whichever it is. */
const told = {
  notes: z.array(z.string()).min(1).optional(),
  database: z.array(finding).min(1).optional(),
}

export const health = endpoint({
  method: 'get',
  path: '/healthz',
  who: 'anybody',
  about: 'Whether the process answers; it asks nothing else.',
  answer: up,
  errors: [],
})

export const readiness = endpoint({
  method: 'get',
  path: '/readyz',
  who: 'anybody',
  about:
    'Whether new turns are taken; 503 with the reasons where not. Notes are what works less than it should and keeps no turn out. For the Bearer of `metrics.token` also all that is found of a database that several nodes share.',
  answer: up.extend(told),
  others: { 503: z.strictObject({ ok: z.literal(false), reasons: z.array(z.string()).min(1), ...told }) },
  errors: [],
})

export const metrics = endpoint({
  method: 'get',
  path: '/metrics',
  who: 'operator',
  about: 'Figures for Prometheus, for the Bearer of `metrics.token`; 404 for everybody else.',
  media: 'text/plain',
  errors: ['not_found'],
})
