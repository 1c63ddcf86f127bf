/** The operator API about what members buy: orders with their story, and subscriptions. */
import { z } from 'zod'
import { maxMinorUnits } from '../../domain/billing/money.ts'
import { orderStates, orderStepKinds } from '../../domain/billing/orders/order.ts'
import { subscriptionSources, subscriptionStates } from '../../domain/billing/subscriptions/subscription.ts'
import { defineEndpoint } from '../endpoint.ts'
import { createListSchema, instant, text } from '../fields.ts'
import { createPageSchema, cursor, pageLimit, reason } from './fields.ts'

const shared = { security: 'operator', failureFormat: 'problem', method: 'get' } as const

const money = z.strictObject({ amount: z.int().meta({ description: 'Minor units.' }), currency: z.string() })

const orderFields = {
  id: z.string(),
  number: z.string(),
  member: z.string(),
  state: z.enum(orderStates),
  item: z.strictObject({ kind: z.string(), plan: z.string().nullable(), pack: z.string().nullable() }),
  due: money,
  paid: money.nullable(),
  refunded: z.int().meta({ description: 'Minor units of `paid`.' }),
  provider: z.string(),
  reference: z.string().nullable(),
  problem: z.string().nullable(),
  subscription: z.string().nullable(),
  pack: z.string().nullable(),
  created_at: instant,
  paid_at: instant.nullable(),
  granted_at: instant.nullable(),
  closed_at: instant.nullable(),
}

const order = z.strictObject(orderFields).meta({ id: 'OperatorOrder' })

export const searchOrders = defineEndpoint({
  ...shared,
  path: '/api/operator/v1/orders',
  operator: { scope: 'money:read' },
  summary: 'Lists orders, newest first.',
  query: z.object({
    member: text(320).optional().meta({ description: 'Address or id.' }),
    state: z.enum(orderStates).optional(),
    provider: text(64).optional(),
    cursor,
    limit: pageLimit,
  }),
  response: createPageSchema(order),
  errors: [],
})

export const inspectOrder = defineEndpoint({
  ...shared,
  path: '/api/operator/v1/orders/{id}',
  operator: { scope: 'money:read' },
  summary: 'Returns an order, by id or number, with its story.',
  response: z.strictObject({
    ...orderFields,
    steps: z.array(
      z.strictObject({
        at: instant,
        kind: z.enum(orderStepKinds),
        by: z.string(),
        facts: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
      }),
    ),
    refundable: z
      .strictObject({
        max: money,
        unspent_credits: z.int().nullable().meta({ description: 'Of a pack: a refund takes the same share of them.' }),
        ends_plan: z.boolean(),
        by_hand: z.boolean().meta({ description: 'The provider returns no money: you send it.' }),
      })
      .nullable()
      .meta({ description: 'What can be refunded now; null: nothing.' }),
  }),
  errors: [],
})

export const refundOrder = defineEndpoint({
  ...shared,
  method: 'post',
  path: '/api/operator/v1/orders/{id}/refund',
  operator: { scope: 'money:write', needsStepUp: true },
  summary: 'Refunds an order, by id or number: all that can be, or a part. The member sees the reason.',
  body: z.object({
    amount: z.int().min(1).max(maxMinorUnits).optional().meta({ description: 'Minor units of `paid`.' }),
    reason,
  }),
  response: z.strictObject({
    outcome: z.enum(['done', 'started', 'failed']).meta({
      description:
        '`started`: the provider gave no final answer yet and is asked until it does. `failed`: it refused, and nothing was changed.',
    }),
    by_hand: z.boolean().meta({ description: 'The provider returns no money: you send it.' }),
    order,
  }),
  errors: [],
})

export const listMemberSubscriptions = defineEndpoint({
  ...shared,
  path: '/api/operator/v1/members/{id}/subscriptions',
  operator: { scope: 'members:read' },
  summary: 'Lists the subscriptions of a member, oldest first, with those that have ended.',
  response: createListSchema(
    z.strictObject({
      id: z.string(),
      plan: z.string(),
      terms: z.string(),
      source: z.enum(subscriptionSources),
      provider: z.string().nullable().meta({ description: 'The sign-in provider whose groups give it.' }),
      order: z.string().nullable(),
      renewal: z.enum(['none', 'manual', 'provider']),
      state: z.enum(subscriptionStates),
      starts_at: instant.nullable(),
      ends_at: instant.nullable(),
      created_at: instant,
      ended_at: instant.nullable(),
    }),
  ),
  errors: [],
})
