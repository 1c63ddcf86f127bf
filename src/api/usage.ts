/** What an account has left, for a program that has only an API key. */
import { z } from 'zod'
import { defineEndpoint } from './endpoint.ts'
import { count, instant } from './fields.ts'
import { pack, usagePool } from './membership/usage.ts'

export const showKeyUsage = defineEndpoint({
  method: 'get',
  path: '/v1/usage',
  security: 'api_credential',
  summary: 'Returns pools with their reset times, boosts, and the limits of the plan. It counts as a request, and costs nothing.',
  response: z.strictObject({
    object: z.literal('usage'),
    plan: z.string(),
    plan_name: z.string(),
    plan_until: instant.nullable(),
    pools: z.array(usagePool),
    boosts: z.array(pack),
    limits: z.strictObject({
      requests_per_minute: count.meta({ description: 'Over all credentials of the account.' }),
      concurrent_turns: count,
    }),
  }),
  errors: [],
})
