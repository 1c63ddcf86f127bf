/** What an account has used, what boosts it has, and the two that a member takes by asking. */
import { z } from 'zod'
import { endpoint } from '../endpoint.ts'
import { count, credits, instant, ok, pool } from '../fields.ts'

const pack = z
  .strictObject({
    id: z.string(),
    kind: z.enum(['checkin', 'invite', 'rush', 'grant']),
    tier: pool,
    granted: credits,
    remaining: credits,
    expires_at: instant,
  })
  .meta({ id: 'Pack', description: 'Credits of a pool with an expiry.' })

const usagePool = z
  .strictObject({
    tier: pool,
    window: z.enum(['day', 'week', 'month']),
    limit: credits,
    used: credits,
    reserved: credits,
    remaining: credits,
    resets_at: instant,
  })
  .meta({ id: 'UsagePool' })

const turn = z
  .strictObject({
    request_id: z.string(),
    model: z.string(),
    tier: pool,
    state: z.enum(['held', 'settled', 'refunded', 'expired']),
    credits,
    reserved: credits,
    input_tokens: count,
    output_tokens: count,
    estimated: z.boolean(),
    code: z.string().nullable(),
    upstream_status: z.int().nullable(),
    started_at: instant,
    ended_at: instant.nullable(),
  })
  .meta({ id: 'Turn' })

export const showUsage = endpoint({
  method: 'get',
  path: '/api/membership/usage',
  who: 'session',
  about: 'Pools, boosts, the last 50 turns, and the last 30 days, oldest first.',
  answer: z.strictObject({
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

const boost = z
  .strictObject({
    balance: credits,
    balances: z.strictObject({ fast: credits, premium: credits }),
    checkin: z.strictObject({ available: z.boolean(), next_at: instant, credits, tier: pool }),
    invite: z.strictObject({ code: z.string(), url: z.url(), credited: count, limit: count, credits, tier: pool }),
    rush: z.strictObject({
      active: z.boolean(),
      starts_at: instant.nullable(),
      ends_at: instant.nullable(),
      remaining: count,
      credits: credits.nullable(),
      tier: pool.nullable(),
      taken: z.boolean(),
    }),
    packs: z.array(pack),
  })
  .meta({ id: 'Boost' })

export const showBoost = endpoint({
  method: 'get',
  path: '/api/membership/boost',
  who: 'session',
  about: 'Which boosts there are to be had, and which the account has.',
  answer: boost,
  errors: [],
})

const boostAction = z.enum(['checkin', 'rush_grab'])

export const takeBoost = endpoint({
  method: 'post',
  path: '/api/membership/boost',
  who: 'session',
  about: "Takes the day's boost, or one of the rush that is open.",
  body: z.object({ action: boostAction }),
  answer: z.strictObject({ ok, action: boostAction, pack, boost }),
  errors: ['boost_unavailable'],
})
