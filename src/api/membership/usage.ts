/** An account's usage and boosts, and the boosts that a member claims. */
import { z } from 'zod'
import { defineEndpoint } from '../endpoint.ts'
import { count, createListSchema, credits, instant, ok, poolAsTier, text } from '../fields.ts'

export const pack = z
  .strictObject({
    id: z.string(),
    kind: z.enum(['checkin', 'invite', 'rush', 'grant']),
    tier: poolAsTier,
    granted: credits,
    remaining: credits,
    expires_at: instant,
  })
  .meta({ id: 'Pack', description: 'Credits of a pool with an expiry.' })

export const usagePool = z
  .strictObject({
    tier: poolAsTier,
    window: z.enum(['day', 'week', 'month']),
    limit: credits,
    used: credits,
    reserved: credits,
    remaining: credits,
    resets_at: instant,
  })
  .meta({ id: 'UsagePool' })

const turnState = z.enum(['held', 'settled', 'refunded', 'expired'])

export const turn = z
  .strictObject({
    request_id: z.string(),
    model: z.string(),
    api_format: z.string(),
    requested_model: z
      .string()
      .nullable()
      .meta({ description: 'The name that the client used, if it was an alias of the model.' }),
    credential: z.string().meta({
      description:
        'The id of the API key; `web`, `cli` or `app` for a session, `jwt` for a token of another issuer, or `unknown`.',
    }),
    tier: poolAsTier,
    state: turnState,
    credits,
    reserved: credits,
    input_tokens: count,
    cached_input_tokens: count.meta({ description: 'The part of `input_tokens` that the upstream read from its cache.' }),
    output_tokens: count,
    estimated: z.boolean(),
    code: z.string().nullable(),
    upstream_status: z.int().nullable(),
    started_at: instant,
    ended_at: instant.nullable(),
  })
  .meta({ id: 'Turn' })

export const showUsage = defineEndpoint({
  method: 'get',
  path: '/api/membership/usage',
  security: 'session',
  summary: 'Returns pools, boosts, the last 50 turns, and the last 30 days, oldest first.',
  response: z.strictObject({
    account: z.strictObject({ id: z.string(), email_masked: z.string().nullable(), plan: z.string() }),
    plan: z.string(),
    plan_until: instant.nullable(),
    plan_name: z.string(),
    pools: z.array(usagePool),
    boosts: z.array(pack),
    turns: z.array(turn),
    days: z.array(z.strictObject({ day: z.iso.date(), fast: credits, premium: credits })),
  }),
  errors: [],
})

/** What usage is grouped by. */
export const usageDimensions = ['tier', 'model', 'key', 'api_format'] as const

const usageTotals = {
  turns: count,
  failed: count,
  credits,
  input_tokens: count,
  cached_input_tokens: count,
  output_tokens: count,
} as const

export const showUsageHistory = defineEndpoint({
  method: 'get',
  path: '/api/membership/usage/history',
  security: 'session',
  summary: 'Returns the usage of the last days, grouped by pool (`tier`), model, key or API format.',
  query: z.object({
    days: z.enum(['7', '30', '90']).default('30'),
    by: z.enum(usageDimensions).default('tier'),
  }),
  response: z.strictObject({
    days: z.array(z.iso.date()).meta({ description: "Days of the service's calendar, oldest first." }),
    by: z.enum(usageDimensions),
    total: z.strictObject(usageTotals),
    groups: z
      .array(
        z.strictObject({
          id: z.string(),
          name: z.string().nullable().meta({ description: "A key's name; null for anything else." }),
          ...usageTotals,
          credits_by_day: z.array(credits).meta({ description: 'One number for each of `days`.' }),
        }),
      )
      .meta({ description: 'Those with the most credits first.' }),
  }),
  errors: [],
})

const turnPage = { defaultSize: 10, maxSize: 500, maxOffset: 100_000 } as const

export const listTurns = defineEndpoint({
  method: 'get',
  path: '/api/membership/turns',
  security: 'session',
  summary: 'Lists turns, newest first, by model, key, API format, state and time.',
  query: z.object({
    limit: z.coerce.number().int().min(1).max(turnPage.maxSize).default(turnPage.defaultSize),
    offset: z.coerce.number().int().min(0).max(turnPage.maxOffset).default(0),
    model: text(128).optional(),
    credential: text(64).optional(),
    api_format: text(64).optional(),
    state: turnState.optional(),
    since: instant.optional(),
    until: instant.optional(),
  }),
  response: createListSchema(turn, { has_more: z.boolean() }),
  errors: [],
})

const boost = z
  .strictObject({
    balance: credits,
    balances: z.strictObject({ fast: credits, premium: credits }),
    checkin: z.strictObject({ available: z.boolean(), next_at: instant, credits, tier: poolAsTier }),
    invite: z.strictObject({ code: z.string(), url: z.url(), credited: count, limit: count, credits, tier: poolAsTier }),
    rush: z.strictObject({
      active: z.boolean(),
      starts_at: instant.nullable(),
      ends_at: instant.nullable(),
      remaining: count,
      credits: credits.nullable(),
      tier: poolAsTier.nullable(),
      taken: z.boolean(),
    }),
    packs: z.array(pack),
  })
  .meta({ id: 'Boost' })

export const showBoost = defineEndpoint({
  method: 'get',
  path: '/api/membership/boost',
  security: 'session',
  summary: 'Returns the boosts available and those of the account.',
  response: boost,
  errors: [],
})

const boostAction = z.enum(['checkin', 'rush_grab'])

export const takeBoost = defineEndpoint({
  method: 'post',
  path: '/api/membership/boost',
  security: 'session',
  summary: "Claims the day's check-in boost, or a pack of the open rush.",
  body: z.object({ action: boostAction }),
  response: z.strictObject({ ok, action: boostAction, pack, boost }),
  errors: ['boost_unavailable'],
})
