/** Emails about windows that are nearly or completely used up. */
import { z } from 'zod'
import { defineEndpoint } from '../endpoint.ts'
import { ok } from '../fields.ts'

const enabled = z.boolean().meta({ description: 'Whether an email is sent at 80 and at 100 % of each window of a pool.' })

export const showUsageAlerts = defineEndpoint({
  method: 'get',
  path: '/api/membership/usage-alerts',
  security: 'session',
  summary: 'Returns whether the member gets emails at 80 and 100 % of a window.',
  response: z.strictObject({ enabled }),
  errors: [],
})

export const setUsageAlerts = defineEndpoint({
  method: 'post',
  path: '/api/membership/usage-alerts',
  security: 'session',
  summary:
    "Switches these emails on or off. They are in the request's language and time zone (`Accept-Language`, `X-Time-Zone`).",
  body: z.object({ enabled }),
  response: z.strictObject({ ok, enabled }),
  errors: [],
})
