/** A member's sessions, and what happened to their account. */
import { z } from 'zod'
import { auditEvents } from '../../membership/audit.ts'
import { endpoint } from '../endpoint.ts'
import { count, instant, listOf, ok } from '../fields.ts'

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
    address: z.string().nullable().meta({ description: 'Masked; null for what nobody asked for over the network.' }),
    request_id: z.string().nullable(),
    detail: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).nullable(),
  })
  .meta({ id: 'AuditRecord' })

const auditPage = { usual: 50, most: 200 } as const

export const listSessions = endpoint({
  method: 'get',
  path: '/api/membership/auth/sessions',
  who: 'cookie',
  about: 'The sessions that are open.',
  answer: listOf(session),
  errors: [],
})

export const endSession = endpoint({
  method: 'delete',
  path: '/api/membership/auth/sessions/{id}',
  who: 'cookie',
  about: 'Ends one.',
  answer: z.strictObject({ ok, id: z.string(), ended: z.literal(true) }),
  errors: ['not_found'],
})

export const endOtherSessions = endpoint({
  method: 'post',
  path: '/api/membership/auth/sessions/end-others',
  who: 'cookie',
  about: 'Ends all but this one; no body is needed.',
  answer: z.strictObject({ ok, ended_sessions: count }),
  errors: [],
})

export const listAudit = endpoint({
  method: 'get',
  path: '/api/membership/audit',
  who: 'cookie',
  about: 'What happened to the account, newest first; `before` is the id of the last one seen.',
  query: z.object({
    before: z.string().optional().catch(undefined),
    limit: z.preprocess(pageSize, z.int().min(1).max(auditPage.most).default(auditPage.usual)),
  }),
  answer: listOf(auditRecord, { has_more: z.boolean() }),
  errors: [],
})

function pageSize(sent: unknown): unknown {
  if (sent === '') return undefined
  return typeof sent === 'string' && /^\d{1,4}$/.test(sent) ? Number(sent) : sent
}
