/** What an account has left and what its turns cost, for a program that has only an API key. */
import { z } from 'zod'
import { defineEndpoint } from './endpoint.ts'
import { count, createListSchema, credits, instant, poolAsTier } from './fields.ts'
import { pack, turn, usagePool } from './membership/usage.ts'

/** What a turn costs and leaves; the field `charge` of a stream's last event. */
export const turnCharge = z
  .strictObject({
    credits,
    tier: poolAsTier,
    left: z
      .strictObject({ window: z.enum(['day', 'week', 'month']), credits, resets_at: instant })
      .nullable()
      .meta({ description: 'In the window of the pool that has the fewest credits left, without boosts.' }),
  })
  .meta({ id: 'TurnCharge', description: 'The field `charge` of the last event of a stream that runs a turn.' })

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

/** Turns of the account, newest first, among which a request is looked up. */
export const maxSearchedTurns = 10_000

export const showTurn = defineEndpoint({
  method: 'get',
  path: '/v1/turns/{request_id}',
  security: 'api_credential',
  summary: `Returns what a request was charged: its turn, or all turns if it ran several or its id was used again, newest first, among the account's newest ${maxSearchedTurns} turns. It counts as a request, and costs nothing.`,
  query: z.object({
    limit: z.coerce.number().int().min(1).max(100).default(20),
    offset: z.coerce.number().int().min(0).max(maxSearchedTurns).default(0),
  }),
  response: createListSchema(turn, {
    request_id: z.string(),
    credits: credits.meta({ description: 'Charged for the turns in `data`.' }),
    has_more: z.boolean(),
  }),
  errors: ['not_found'],
})
