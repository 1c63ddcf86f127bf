/** Device login (RFC 8628 in our words): what programs post, and what the page at `/device` posts. */
import { z } from 'zod'
import { endpoint } from '../endpoint.ts'
import { instant, ok, optionalText, seconds, text } from '../fields.ts'

const userCode = text(64).meta({ description: 'As it was typed: case, spaces and punctuation do not count.' })

export const startDevice = endpoint({
  method: 'post',
  path: '/api/membership/auth/device/start',
  who: 'visitor',
  about: 'A program asks for a code to show; `client` is this service’s own (`svc-cli`).',
  body: z.object({ client: text(64), client_version: optionalText(64), hostname: optionalText(64) }),
  answer: z.strictObject({
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

const waiting = { interval: seconds, expires_in: seconds, requestId: z.string() } as const

export const pollDevice = endpoint({
  method: 'post',
  path: '/api/membership/auth/device/poll',
  who: 'visitor',
  about: 'The program asks whether the person has decided; the token comes once.',
  body: z.object({ device_code: text(256) }),
  answer: z.discriminatedUnion('status', [
    z.strictObject({ status: z.literal('pending'), error: z.literal('authorization_pending'), ...waiting }),
    z.strictObject({ status: z.literal('slow_down'), error: z.literal('slow_down'), ...waiting }),
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

export const lookUpDevice = endpoint({
  method: 'post',
  path: '/api/membership/auth/device/lookup',
  who: 'cookie',
  about: "Which device shows this code; it is the viewer's from then on. Anybody else's is 404 like one that is not.",
  body: z.object({ user_code: userCode }),
  answer: z.strictObject({
    device: z.strictObject({
      user_code: z.string(),
      client: z.string(),
      client_version: z.string().nullable(),
      hostname: z.string().nullable(),
      address: z.string(),
      same_network: z.boolean().meta({ description: "Whether it was started from the viewer's own network; warn where not." }),
      started_at: instant,
      expires_in: seconds,
      state: z.enum(['pending', 'claimed', 'approved', 'denied', 'redeemed']),
    }),
  }),
  errors: ['not_found'],
})

export const approveDevice = endpoint({
  method: 'post',
  path: '/api/membership/auth/device/approve',
  who: 'cookie',
  about: 'Lets the device in.',
  body: z.object({ user_code: userCode }),
  answer: z.strictObject({ ok, status: z.literal('approved') }),
  errors: ['not_found'],
})

export const denyDevice = endpoint({
  method: 'post',
  path: '/api/membership/auth/device/deny',
  who: 'cookie',
  about: 'Turns it away.',
  body: z.object({ user_code: userCode }),
  answer: z.strictObject({ ok, status: z.literal('denied') }),
  errors: ['not_found'],
})
