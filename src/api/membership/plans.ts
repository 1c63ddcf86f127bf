/** The public catalog: plans, and prices of tokens. */
import { z } from 'zod'
import { defineEndpoint } from '../endpoint.ts'
import { count, credits, pool, price, tier } from '../fields.ts'

const limits = z.strictObject({ day: credits, week: credits, month: credits })
const estimate = count.nullable()
const estimates = z.strictObject({ day: estimate, week: estimate, month: estimate })

const pricePoint = z.strictObject({
  id: z.string(),
  name: z.string(),
  rpm: count,
  concurrency: count,
  pools: z.strictObject({ fast: limits, premium: limits }),
  messages: z.strictObject({ fast: estimates, premium: estimates }).meta({
    description:
      'Messages of the size `message` that the credits of each pool pay for, rounded down; null where they cost nothing.',
  }),
  models: z.array(z.string()),
  prices: z.array(
    z.strictObject({
      amount: z.number(),
      currency: z.string(),
      interval: z.enum(['month', 'year']),
      multiplier: z.number().nullable(),
    }),
  ),
})

const plan = pricePoint
  .extend({
    options: z.array(pricePoint).optional().meta({ description: 'What each price includes, if there are several.' }),
  })
  .meta({ id: 'Plan' })

export const listPlans = defineEndpoint({
  method: 'get',
  path: '/api/membership/plans',
  security: 'public',
  summary: 'Returns the plans with prices and pools, token prices, and the name prefix of the brand.',
  response: z.strictObject({
    object: z.literal('list'),
    brand: z.strictObject({ slug: z.string(), name: z.string() }),
    data: z.array(plan),
    is_sold: z.boolean().meta({ description: 'Whether plans and packs can be bought here; prices are only shown otherwise.' }),
    packs: z.array(
      z.strictObject({
        id: z.string(),
        credits,
        pool,
        days: count.nullable().meta({ description: 'How long the credits can be spent; null: they have no end.' }),
        prices: z.array(z.strictObject({ amount: z.number(), currency: z.string() })),
      }),
    ),
    pricing: z.array(z.strictObject({ id: z.string(), name: z.string(), tier, ...price })),
    discounts: z.strictObject({ light: z.number(), flagship: z.number(), unit: z.literal('percent') }),
    message: z.strictObject({ input_tokens: count, output_tokens: count }),
    credit: z.strictObject({ currency: z.literal('USD'), per: z.literal(1_000_000) }),
  }),
  errors: [],
})
