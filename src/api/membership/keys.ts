/** Personal API keys: created (shown once), listed, revoked. */
import { z } from 'zod'
import { defineEndpoint } from '../endpoint.ts'
import { count, credits, instant, createListSchema, ok, text } from '../fields.ts'

export const apiKey = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    prefix: z.string(),
    last4: z.string(),
    created_at: instant,
    last_used_at: instant.nullable(),
    expires_at: instant.nullable(),
    revoked_at: instant.nullable(),
  })
  .meta({ id: 'Key' })

const usedKey = apiKey.extend({
  usage: z.strictObject({ turns: count, credits }).meta({ description: 'Of the last 30 days.' }),
})

const keyName = text(64)
  .transform((name) => name.trim())
  .pipe(z.string().min(1))

export const listKeys = defineEndpoint({
  method: 'get',
  path: '/api/membership/auth/api-keys',
  security: 'session_cookie',
  summary: 'Lists the keys with their usage, without their secrets, and the maximum per account.',
  response: createListSchema(usedKey, { limit: count }),
  errors: [],
})

export const createKey = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/api-keys',
  security: 'session_cookie',
  summary: 'Creates a key; its `token` is shown only in this response.',
  body: z.object({
    name: keyName,
    expires_in_days: z.int().min(1).max(365).nullish(),
  }),
  status: 201,
  response: apiKey.extend({ token: z.string() }).meta({ id: 'NewKey' }),
  errors: ['invalid_request'],
})

export const renameKey = defineEndpoint({
  method: 'patch',
  path: '/api/membership/auth/api-keys/{id}',
  security: 'session_cookie',
  summary: 'Renames a key.',
  body: z.object({ name: keyName }),
  response: z.strictObject({ ok, id: z.string(), name: z.string() }),
  errors: ['not_found'],
})

export const revokeKey = defineEndpoint({
  method: 'delete',
  path: '/api/membership/auth/api-keys/{id}',
  security: 'session_cookie',
  summary: 'Revokes a key, immediately and permanently.',
  response: z.strictObject({ ok, id: z.string(), revoked: z.literal(true) }),
  errors: ['not_found'],
})
