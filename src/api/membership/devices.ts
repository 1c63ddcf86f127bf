/** Device login (after RFC 8628): the endpoints of programs, and those of the page at `/device`. */
import { z } from 'zod'
import { defineEndpoint } from '../endpoint.ts'
import { instant, ok, optionalText, seconds, text } from '../fields.ts'

const userCode = text(64).meta({ description: 'As typed: case, spaces and punctuation are ignored.' })

export const startDevice = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/device/start',
  security: 'same_site',
  summary: 'Starts a login and returns the code to show; `client` is this service’s own CLI (`svc-cli`).',
  body: z.object({ client: text(64).meta({ enum: ['svc-cli'] }), client_version: optionalText(64), hostname: optionalText(64) }),
  response: z.strictObject({
    device_code: z.string(),
    user_code: z.string(),
    verification_uri: z.url(),
    verification_uri_complete: z.url(),
    expires_in: seconds,
    interval: seconds,
    requestId: z.string(),
  }),
  errors: ['invalid_request'],
})

const pendingFields = { interval: seconds, expires_in: seconds, requestId: z.string() } as const

export const pollDevice = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/device/poll',
  security: 'same_site',
  summary: 'Polls for the decision; the token is returned once.',
  body: z.object({ device_code: text(256) }),
  response: z.discriminatedUnion('status', [
    z.strictObject({ status: z.literal('pending'), error: z.literal('authorization_pending'), ...pendingFields }),
    z.strictObject({ status: z.literal('slow_down'), error: z.literal('slow_down'), ...pendingFields }),
    z.strictObject({
      status: z.literal('approved'),
      sessionToken: z.string(),
      token_type: z.literal('Bearer'),
      expires_in: seconds,
      expires_at: instant,
      account: z.strictObject({ id: z.string(), email_masked: z.string().nullable(), plan: z.string() }),
      requestId: z.string(),
    }),
  ]),
  errors: ['access_denied', 'expired_token', 'invalid_grant'],
})

export const lookUpDevice = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/device/lookup',
  security: 'session_cookie',
  summary:
    'Returns the device that shows this code and claims the code for the viewer. A code claimed by another account is 404.',
  body: z.object({ user_code: userCode }),
  response: z.strictObject({
    device: z.strictObject({
      user_code: z.string(),
      client: z.string(),
      client_version: z.string().nullable(),
      hostname: z.string().nullable(),
      address: z.string(),
      same_network: z.boolean().meta({ description: "Whether it was started from the viewer's network; warn if not." }),
      started_at: instant,
      expires_in: seconds,
      state: z.enum(['pending', 'claimed', 'approved', 'denied', 'redeemed']),
    }),
  }),
  errors: ['not_found'],
})

export const approveDevice = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/device/approve',
  security: 'session_cookie',
  summary: 'Approves the device.',
  body: z.object({ user_code: userCode }),
  response: z.strictObject({ ok, status: z.literal('approved') }),
  errors: ['not_found'],
})

export const denyDevice = defineEndpoint({
  method: 'post',
  path: '/api/membership/auth/device/deny',
  security: 'session_cookie',
  summary: 'Denies the device.',
  body: z.object({ user_code: userCode }),
  response: z.strictObject({ ok, status: z.literal('denied') }),
  errors: ['not_found'],
})
