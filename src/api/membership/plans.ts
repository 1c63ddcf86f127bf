/** The public catalogue: plans, and what tokens cost. */
import { z } from 'zod'
import { endpoint } from '../endpoint.ts'
import { count, credits, price, tier } from '../fields.ts'

const limits = z.strictObject({ day: credits, week: credits, month: credits })

const point = z.strictObject({
  id: z.string(),
  name: z.string(),
  rpm: count,
  concurrency: count,
  pools: z.strictObject({ fast: limits, premium: limits }),
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

const plan = point
  .extend({ options: z.array(point).optional().meta({ description: 'What each price includes, where there is more than one.' }) })
  .meta({ id: 'Plan' })

export const listPlans = endpoint({
  method: 'get',
  path: '/api/membership/plans',
  who: 'anybody',
  about: 'Plans with their prices and pools, the price of tokens, and what names of this service begin with.',
  answer: z.strictObject({
    object: z.literal('list'),
    brand: z.strictObject({ slug: z.string(), name: z.string() }),
    data: z.array(plan),
    pricing: z.array(z.strictObject({ id: z.string(), name: z.string(), tier, ...price })),
    discounts: z.strictObject({ light: z.number(), flagship: z.number(), unit: z.literal('percent') }),
    credit: z.strictObject({ currency: z.literal('USD'), per: z.literal(1_000_000) }),
  }),
  errors: [],
})
