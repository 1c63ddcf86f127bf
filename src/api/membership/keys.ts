/** Personal API keys: made (shown once), listed, revoked. */
import { z } from 'zod'
import { endpoint } from '../endpoint.ts'
import { count, instant, listOf, ok, text } from '../fields.ts'

const key = z
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

export const listKeys = endpoint({
  method: 'get',
  path: '/api/membership/auth/api-keys',
  who: 'cookie',
  about: 'The keys, without their secrets, and how many an account may have at once.',
  answer: listOf(key, { limit: count }),
  errors: [],
})

export const createKey = endpoint({
  method: 'post',
  path: '/api/membership/auth/api-keys',
  who: 'cookie',
  about: 'Makes a key; its `token` is shown this once.',
  body: z.object({
    name: text(64)
      .transform((name) => name.trim())
      .pipe(z.string().min(1)),
    expires_in_days: z.int().min(1).max(365).nullish(),
  }),
  status: 201,
  answer: key.extend({ token: z.string() }).meta({ id: 'NewKey' }),
  errors: ['invalid_request'],
})

export const revokeKey = endpoint({
  method: 'delete',
  path: '/api/membership/auth/api-keys/{id}',
  who: 'cookie',
  about: 'Revokes one, at once and for good.',
  answer: z.strictObject({ ok, id: z.string(), revoked: z.literal(true) }),
  errors: ['not_found'],
})
