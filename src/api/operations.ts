/** What keeps the service alive asks here. */
import { z } from 'zod'
import { endpoint } from './endpoint.ts'

const up = z.strictObject({ ok: z.literal(true) })

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
    'Whether new turns are taken; 503 with the reasons where not. Notes are what works less than it should and keeps no turn out.',
  answer: up.extend({ notes: z.array(z.string()).min(1).optional() }),
  others: { 503: z.strictObject({ ok: z.literal(false), reasons: z.array(z.string()).min(1) }) },
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
