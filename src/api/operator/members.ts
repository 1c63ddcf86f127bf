/** The operator API about members: found, looked at, and changed with a reason. */
import { z } from 'zod'
import { defineEndpoint } from '../endpoint.ts'
import { count, createListSchema, credits, email, instant, ok, pool, text } from '../fields.ts'
import { apiKey } from '../membership/keys.ts'
import { pack, turn, usagePool } from '../membership/usage.ts'
import { auditRecord } from './audit.ts'
import { createPageSchema, cursor, pageLimit, reason } from './fields.ts'

const member = z
  .strictObject({
    id: z.string(),
    email: z.string().nullable(),
    plan: z.string(),
    plan_until: instant.nullable(),
    terms: z.string().nullable(),
    status: z.enum(['active', 'disabled', 'deleted']),
    created_at: instant,
  })
  .meta({ id: 'Member' })

const shared = { security: 'operator', failureFormat: 'problem' } as const

export const findMembers = defineEndpoint({
  ...shared,
  method: 'get',
  path: '/api/operator/v1/members',
  operator: { scope: 'members:read' },
  summary:
    'Lists members, or finds them by address, id, the first characters of an API key, the id or number of an order, or the id of a request.',
  query: z.object({ q: text(320).optional(), cursor, limit: pageLimit }),
  response: createPageSchema(member),
  errors: [],
})

export const createMember = defineEndpoint({
  ...shared,
  method: 'post',
  path: '/api/operator/v1/members',
  operator: { scope: 'members:write' },
  summary: 'Creates an account; its person signs in by email.',
  body: z.object({ email, plan: text(64).optional(), until: instant.optional(), reason }),
  status: 201,
  response: member,
  errors: [],
})

export const showMember = defineEndpoint({
  ...shared,
  method: 'get',
  path: '/api/operator/v1/members/{id}',
  operator: { scope: 'members:read' },
  summary: 'Returns a member with plan, pools and boosts, as the member sees them.',
  response: z.strictObject({ member, pools: z.array(usagePool), boosts: z.array(pack) }),
  errors: [],
})

export const listMemberTurns = defineEndpoint({
  ...shared,
  method: 'get',
  path: '/api/operator/v1/members/{id}/turns',
  operator: { scope: 'turns:read' },
  summary: 'Lists the turns of a member, newest first: what was reserved and charged for each, and why it failed.',
  query: z.object({ cursor: z.coerce.number().int().min(1).optional(), limit: pageLimit }),
  response: z.strictObject({ object: z.literal('list'), data: z.array(turn), next_cursor: z.int().nullable() }),
  errors: [],
})

export const listMemberKeys = defineEndpoint({
  ...shared,
  method: 'get',
  path: '/api/operator/v1/members/{id}/keys',
  operator: { scope: 'members:read' },
  summary: 'Lists the API keys of a member, without their secrets.',
  response: createListSchema(apiKey),
  errors: [],
})

export const listMemberSessions = defineEndpoint({
  ...shared,
  method: 'get',
  path: '/api/operator/v1/members/{id}/sessions',
  operator: { scope: 'members:read' },
  summary: 'Lists the open sessions of a member.',
  response: createListSchema(
    z.strictObject({
      id: z.string(),
      kind: z.enum(['web', 'cli', 'app']),
      method: z.string(),
      client: z.string().nullable(),
      address: z.string().nullable(),
      created_at: instant,
      last_used_at: instant,
      expires_at: instant,
    }),
  ),
  errors: [],
})

export const listMemberAudit = defineEndpoint({
  ...shared,
  method: 'get',
  path: '/api/operator/v1/members/{id}/audit',
  operator: { scope: 'members:read' },
  summary: 'Lists what happened to the account of a member, newest first.',
  query: z.object({ cursor, limit: pageLimit }),
  response: createPageSchema(auditRecord),
  errors: [],
})

export const setMemberPlan = defineEndpoint({
  ...shared,
  method: 'post',
  path: '/api/operator/v1/members/{id}/plan',
  operator: { scope: 'members:write' },
  summary: 'Gives a plan, with an end or without; the member sees the reason.',
  body: z.object({ plan: text(64), until: instant.optional(), reason }),
  response: z.strictObject({ member, given_plan: z.string() }),
  errors: [],
})

export const adjustMemberCredits = defineEndpoint({
  ...shared,
  method: 'post',
  path: '/api/operator/v1/members/{id}/credits',
  operator: { scope: 'money:write', needsStepUp: true },
  summary: 'Corrects credits: adds a pack, or with a minus takes them. The member sees the reason.',
  body: z.object({
    pool,
    credits: credits.min(-1e15).max(1e15),
    expires_at: instant.optional().meta({ description: 'Of added credits; a year from now by default.' }),
    reason,
  }),
  response: z.strictObject({ ok, id: z.string() }),
  errors: [],
})

export const setMemberStatus = defineEndpoint({
  ...shared,
  method: 'post',
  path: '/api/operator/v1/members/{id}/status',
  operator: { scope: 'members:write' },
  summary: 'Disables an account, so that its requests are refused, or enables it.',
  body: z.object({ status: z.enum(['active', 'disabled']), reason }),
  response: member,
  errors: [],
})

export const endMemberSessions = defineEndpoint({
  ...shared,
  method: 'post',
  path: '/api/operator/v1/members/{id}/sessions/end',
  operator: { scope: 'sessions:write' },
  summary: 'Ends all sessions of a member.',
  body: z.object({ reason }),
  response: z.strictObject({ ok, ended_sessions: count }),
  errors: [],
})

export const resendSignInEmail = defineEndpoint({
  ...shared,
  method: 'post',
  path: '/api/operator/v1/members/{id}/sign-in-email',
  operator: { scope: 'sessions:write' },
  summary: 'Sends the member an email whose link signs in.',
  body: z.object({ reason }),
  response: z.strictObject({ ok, is_delayed: z.boolean() }),
  errors: ['temporarily_unavailable'],
})

export const revokeMemberKey = defineEndpoint({
  ...shared,
  method: 'post',
  path: '/api/operator/v1/members/{id}/keys/{key}/revoke',
  operator: { scope: 'members:write' },
  summary: 'Revokes an API key of a member.',
  body: z.object({ reason }),
  response: z.strictObject({ ok, id: z.string() }),
  errors: [],
})

export const changeMemberEmail = defineEndpoint({
  ...shared,
  method: 'post',
  path: '/api/operator/v1/members/{id}/email',
  operator: { scope: 'members:write', needsStepUp: true },
  summary: 'Changes the address of a member, which the operator vouches for. Both addresses receive an email.',
  body: z.object({ email, reason }),
  response: member,
  errors: [],
})

export const unlinkMemberProvider = defineEndpoint({
  ...shared,
  method: 'post',
  path: '/api/operator/v1/members/{id}/providers/{provider}/unlink',
  operator: { scope: 'members:write' },
  summary: 'Unlinks a sign-in provider from a member, whose next sign-in with it and a verified address links again.',
  body: z.object({ reason }),
  response: z.strictObject({ ok }),
  errors: [],
})
