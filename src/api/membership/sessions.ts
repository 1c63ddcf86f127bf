/** A member's sessions and security events. */
import { z } from 'zod'
import { auditEvents } from '../../domain/identity/audit.ts'
import { defineEndpoint } from '../endpoint.ts'
import { count, instant, createListSchema, ok } from '../fields.ts'

export const session = z
  .strictObject({
    id: z.string(),
    kind: z.enum(['web', 'cli', 'app']),
    method: z.enum(['code', 'password', 'provider', 'device', 'consent']),
    client: z.string().nullable(),
    address: z.string().nullable().meta({ description: 'Masked, as in `203.0.113.x`.' }),
    created_at: instant,
    last_used_at: instant,
    expires_at: instant,
    current: z.boolean(),
  })
  .meta({ id: 'Session' })

const auditRecord = z
  .strictObject({
    id: z.string(),
    event: z.enum(auditEvents),
    at: instant,
    address: z.string().nullable().meta({ description: 'Masked; null for events without a request.' }),
    request_id: z.string().nullable(),
    detail: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).nullable(),
  })
  .meta({ id: 'AuditRecord' })

const auditPage = { defaultSize: 50, maxSize: 200 } as const

export const listSessions = defineEndpoint({
  method: 'get',
  path: '/api/membership/auth/sessions',
  security: 'session_cookie',
  summary: 'Lists the open sessions.',
  response: createListSchema(session),
  errors: [],
})

export const endSession = defineEndpoint({
  method: 'delete',
  path: '/api/membership/auth/sessions/{id}',
  security: 'session_cookie',
  summary: 'Ends a session.',
  response: z.strictObject({ ok, id: z.string(), ended: z.literal(true) }),
  errors: ['not_found'],
})

export const endOtherSessions = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/sessions/end-others',
  security: 'session_cookie',
  summary: 'Ends all other sessions; no body is needed.',
  response: z.strictObject({ ok, ended_sessions: count }),
  errors: [],
})

export const listAudit = defineEndpoint({
  method: 'get',
  path: '/api/membership/audit',
  security: 'session_cookie',
  summary: 'Lists security events of the account, newest first; `before` is the id of the last one seen.',
  query: z.object({
    before: z.string().optional().catch(undefined),
    limit: z.preprocess(parsePageSize, z.int().min(1).max(auditPage.maxSize).default(auditPage.defaultSize)),
  }),
  response: createListSchema(auditRecord, { has_more: z.boolean() }),
  errors: [],
})

function parsePageSize(input: unknown): unknown {
  if (input === '') return undefined
  return typeof input === 'string' && /^\d{1,4}$/.test(input) ? Number(input) : input
}
