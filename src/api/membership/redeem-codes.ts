/** Codes that a member redeems for a plan or for credits. */
import { z } from 'zod'
import { defineEndpoint } from '../endpoint.ts'
import { count, credits, instant, ok, pool, text } from '../fields.ts'

const code = text(128).meta({ description: 'Twenty letters and digits; case, blanks and dashes do not matter.' })

const outcome = z
  .strictObject({
    kind: z.enum(['plan', 'credits']),
    plan: z
      .strictObject({
        id: z.string(),
        name: z.string(),
        span: z.string().meta({ description: 'Days, months or years: `30d`, `1mo`, `1y`.' }),
        starts_at: instant,
        ends_at: instant,
        is_waiting: z.boolean().meta({ description: 'It begins when a higher or an earlier subscription ends.' }),
        interrupts: z.string().nullable().meta({ description: 'The name of the plan whose rest follows afterwards.' }),
      })
      .nullable(),
    credits: z.strictObject({ pool, credits, days: count, expires_at: instant }).nullable(),
  })
  .meta({ id: 'CodeOutcome' })

export const inspectCode = defineEndpoint({
  method: 'post',
  path: '/api/membership/codes/inspect',
  security: 'session',
  summary: 'Returns what a code would give the account, and changes nothing.',
  body: z.object({ code }),
  response: outcome,
  errors: ['code_unusable', 'rate_limited'],
})

export const redeemCode = defineEndpoint({
  method: 'post',
  path: '/api/membership/codes/redeem',
  security: 'session',
  summary: 'Redeems a code, once an account.',
  body: z.object({ code }),
  response: z.strictObject({ ok, outcome }),
  errors: ['code_unusable', 'rate_limited'],
})
