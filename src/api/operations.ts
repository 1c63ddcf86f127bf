/** Endpoints for operation: health, readiness, metrics. */
import { z } from 'zod'
import { defineEndpoint } from './endpoint.ts'

const healthy = z.strictObject({ ok: z.literal(true) })
const finding = z.strictObject({ what: z.string(), ok: z.boolean(), detail: z.string() })
/** Fields of both responses of `/readyz`. */
const readinessDetails = {
  notes: z.array(z.string()).min(1).optional(),
  database: z.array(finding).min(1).optional(),
}

export const health = defineEndpoint({
  method: 'get',
  path: '/healthz',
  // The names that clients of vLLM, and Claude Code, request first.
  aliases: ['/health', '/api/hello'],
  security: 'public',
  summary: 'Liveness: the process answers. Checks no dependency.',
  response: healthy,
  errors: [],
})

export const readiness = defineEndpoint({
  method: 'get',
  path: '/readyz',
  security: 'public',
  summary:
    'Whether new turns are accepted; 503 with the reasons if not. `notes` lists faults that refuse no turn. With the Bearer of `metrics.token`, `database` has all checks of a database that several nodes share.',
  response: healthy.extend(readinessDetails),
  otherResponses: { 503: z.strictObject({ ok: z.literal(false), reasons: z.array(z.string()).min(1), ...readinessDetails }) },
  errors: [],
})

export const metrics = defineEndpoint({
  method: 'get',
  path: '/metrics',
  security: 'operator_token',
  summary: 'Prometheus metrics, for the Bearer of `metrics.token`; 404 otherwise.',
  mediaType: 'text/plain',
  errors: ['not_found'],
})
