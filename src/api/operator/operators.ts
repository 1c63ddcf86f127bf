/** The operator API about operators: who is asking, roles, and operator keys. */
import { z } from 'zod'
import { operatorRoleNames, operatorScopes } from '../../domain/identity/operators/operator-role.ts'
import type { OperatorRole } from '../../domain/identity/operators/operator-role.ts'
import { defineEndpoint } from '../endpoint.ts'
import { createListSchema, credits, instant, ok, text } from '../fields.ts'
import { reason } from './fields.ts'

const role = z.enum(operatorRoleNames as [OperatorRole, ...OperatorRole[]])
const scope = z.enum(operatorScopes)

const operatorKey = z
  .strictObject({
    id: z.string(),
    account: z.string().meta({ description: 'The maker.' }),
    name: z.string(),
    prefix: z.string(),
    last4: z.string(),
    scopes: z.array(scope),
    networks: z.array(z.string()).nullable(),
    daily_credits: credits.nullable(),
    created_at: instant,
    last_used_at: instant.nullable(),
    expires_at: instant.nullable(),
    revoked_at: instant.nullable(),
  })
  .meta({ id: 'OperatorKey' })

const shared = { security: 'operator', failureFormat: 'problem' } as const

export const showOperator = defineEndpoint({
  ...shared,
  method: 'get',
  path: '/api/operator/v1/me',
  operator: { scope: null },
  summary: 'Returns who is asking, and what they may do.',
  response: z.strictObject({
    kind: z.enum(['session', 'shell', 'key']),
    account: z.string().nullable(),
    role: role.nullable(),
    key: z.string().nullable(),
    system_user: z.string().nullable(),
    scopes: z.array(scope),
    step_up_until: instant
      .nullable()
      .meta({ description: 'Until then actions that need a fresh proof are possible; null for keys.' }),
  }),
  errors: [],
})

export const listOperators = defineEndpoint({
  ...shared,
  method: 'get',
  path: '/api/operator/v1/operators',
  operator: { scope: 'audit:read' },
  summary: 'Lists the accounts with a role.',
  response: createListSchema(
    z.strictObject({
      account: z.string(),
      email: z.string().nullable(),
      role,
      provider: z.string().nullable().meta({ description: 'The sign-in provider whose groups gave the role.' }),
      granted_at: instant,
      has_second_factor: z.boolean(),
    }),
  ),
  errors: [],
})

export const setOperatorRole = defineEndpoint({
  ...shared,
  method: 'post',
  path: '/api/operator/v1/members/{id}/role',
  operator: { scope: 'roles:write', needsStepUp: true, refusesKeys: true },
  summary: 'Gives an account a role, or takes it with `null`. The last owner stays.',
  body: z.object({ role: role.nullable(), reason }),
  response: z.strictObject({ ok, account: z.string(), role: role.nullable() }),
  errors: [],
})

export const listOperatorKeys = defineEndpoint({
  ...shared,
  method: 'get',
  path: '/api/operator/v1/operator-keys',
  operator: { scope: 'audit:read' },
  summary: 'Lists operator keys, newest first, without their secrets.',
  response: createListSchema(operatorKey),
  errors: [],
})

export const createOperatorKey = defineEndpoint({
  ...shared,
  method: 'post',
  path: '/api/operator/v1/operator-keys',
  operator: { scope: 'keys:write', needsStepUp: true, refusesKeys: true, refusesShell: true, showsSecret: true },
  summary: 'Makes an operator key; it is shown once. It never has more than its maker.',
  body: z.object({
    name: text(64),
    scopes: z.array(scope).min(1).max(operatorScopes.length),
    networks: z
      .array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]))
      .min(1)
      .max(32)
      .nullish()
      .meta({ description: 'Addresses and prefixes that may use it; needed for `money:write`.' }),
    daily_credits: credits
      .min(1)
      .nullish()
      .meta({ description: 'Credits that it may move each day, in either direction; needed for `money:write`.' }),
    expires_in_days: z.int().min(1).max(3650).nullable().default(90).meta({ description: '`null`: no end.' }),
    reason,
  }),
  status: 201,
  response: operatorKey.extend({ token: z.string() }),
  errors: [],
})

export const revokeOperatorKey = defineEndpoint({
  ...shared,
  method: 'post',
  path: '/api/operator/v1/operator-keys/{id}/revoke',
  operator: { scope: 'keys:write', needsStepUp: true, refusesKeys: true },
  summary: 'Revokes an operator key.',
  body: z.object({ reason }),
  response: z.strictObject({ ok, id: z.string() }),
  errors: [],
})
