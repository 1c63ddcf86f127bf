/** The operator API about products and their targets: how they did, taking one out for a time, and trying it. */
import { z } from 'zod'
import { maxTakenOutMinutes } from '../../domain/taken-out-target.ts'
import { defineEndpoint } from '../endpoint.ts'
import { count, instant, ok, text } from '../fields.ts'
import { reason } from './fields.ts'
import { behindMs, totals } from './turns.ts'

const shared = { security: 'operator', failureFormat: 'problem' } as const

const target = text(300).meta({ description: '`upstream/model`.' })
const share = z
  .number()
  .min(0)
  .max(1)
  .nullable()
  .meta({ description: 'Of the turns that count: completed ones, and failures that are not their member’s. Null without any.' })

const takenOut = z
  .strictObject({ target: z.string(), since: instant, until: instant, reason: z.string() })
  .meta({ id: 'TakenOutTarget' })

const figures = { success_share: share, totals: totals.nullable() }

export const showRouting = defineEndpoint({
  ...shared,
  method: 'get',
  path: '/api/operator/v1/routing',
  operator: { scope: 'routing:read' },
  summary: 'Returns how each product and each of its targets did over the last 24 hours, 7 or 30 days, and what is taken out.',
  query: z.object({ span: z.enum(['day', 'week', 'month']).default('day') }),
  response: z.strictObject({
    from: instant,
    to: instant,
    products: z.array(
      z.strictObject({
        id: z.string(),
        ...figures,
        targets: z.array(
          z.strictObject({
            target: z.string().nullable().meta({ description: 'Null: turns that called no upstream.' }),
            is_configured: z.boolean(),
            breaker: z.enum(['closed', 'half_open', 'open']).nullable().meta({ description: 'At the node that answers.' }),
            last_failure: z.strictObject({ outcome: z.string(), at: instant }).nullable(),
            taken_out: takenOut.nullable(),
            margin_nanodollars: z
              .int()
              .nullable()
              .meta({ description: 'Null without `money:read`, or where the cost of the target is not configured.' }),
            ...figures,
          }),
        ),
      }),
    ),
    behind_ms: behindMs,
  }),
  errors: [],
})

export const listTakenOutTargets = defineEndpoint({
  ...shared,
  method: 'get',
  path: '/api/operator/v1/targets/taken-out',
  operator: { scope: 'routing:read' },
  summary: 'Lists the targets that are taken out, and when each comes back.',
  response: z.strictObject({ object: z.literal('list'), data: z.array(takenOut) }),
  errors: [],
})

export const takeOutTarget = defineEndpoint({
  ...shared,
  method: 'post',
  path: '/api/operator/v1/targets/take-out',
  operator: { scope: 'routing:write' },
  summary: 'Takes a target out for some minutes, on all nodes. It comes back by itself.',
  body: z.object({
    target,
    minutes: z.int().min(1).max(maxTakenOutMinutes),
    allow_last: z
      .boolean()
      .default(false)
      .meta({ description: 'Also where a product then has no target, and its turns are refused.' }),
    reason,
  }),
  response: takenOut,
  errors: [],
})

export const bringBackTarget = defineEndpoint({
  ...shared,
  method: 'post',
  path: '/api/operator/v1/targets/bring-back',
  operator: { scope: 'routing:write' },
  summary: 'Brings a target back that was taken out.',
  body: z.object({ target, reason }),
  response: z.strictObject({ ok, target: z.string() }),
  errors: [],
})

export const tryTarget = defineEndpoint({
  ...shared,
  method: 'post',
  path: '/api/operator/v1/targets/try',
  operator: { scope: 'routing:write' },
  summary:
    'Sends one short turn to a target, or to a product as the router would. It is in no figure and costs no credits; the upstream charges it.',
  body: z
    .object({ target: target.optional(), product: text(128).optional() })
    .refine((body) => (body.target === undefined) !== (body.product === undefined), {
      path: ['target'],
      params: { en: "or 'product' is needed, and not both", zh: "或 'product' 必须填写其一，且不能同时填写" },
    }),
  response: z.strictObject({
    target: z.string().nullable(),
    status: z.int().nullable(),
    duration_ms: count,
    first_token_ms: count.nullable(),
    failure: z.strictObject({ code: z.string(), message: z.string(), message_zh: z.string() }).nullable(),
  }),
  errors: ['rate_limited'],
})
