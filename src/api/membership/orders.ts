/** What a member can buy, and orders. */
import { z } from 'zod'
import { maxBuyerLineChars, maxBuyerLines, orderStates, orderStepKinds } from '../../domain/billing/orders/order.ts'
import { defineEndpoint } from '../endpoint.ts'
import { count, createListSchema, credits, instant, ok, pool, seconds, text } from '../fields.ts'

const interval = z.enum(['month', 'year'])
const money = z
  .strictObject({
    amount: z.int().meta({ description: 'In minor units of the currency by ISO 4217: 1200 of EUR is 12.00, of JPY 1,200.' }),
    currency: z.string(),
    text: z.string().meta({ description: 'As the reader of the language writes it.' }),
  })
  .meta({ id: 'Money' })

const item = z
  .strictObject({
    kind: z.enum(['plan', 'pack']),
    title: z.string(),
    plan: z.string().nullable(),
    interval: interval.nullable(),
    pack: z.string().nullable(),
    pool: pool.nullable(),
    credits: credits.nullable(),
    days: count.nullable().meta({ description: 'How long the credits can be spent; null also where they have no end.' }),
  })
  .meta({ id: 'SoldItem' })

const event = z
  .enum(['first', 'renewal', 'upgrade', 'downgrade', 'interval', 'pack'])
  .meta({ description: 'What the purchase does, by the table of rules in docs/selling.md.' })

const offer = z
  .strictObject({
    item,
    prices: z.array(money),
    event,
    refusal: z.string().nullable().meta({ description: 'Why it cannot be bought now; null where it can.' }),
    checkout_url: z.string(),
  })
  .meta({ id: 'Offer' })

const order = z
  .strictObject({
    id: z.string(),
    number: z.string(),
    item,
    event,
    state: z.enum(orderStates),
    price: money,
    credit: money.meta({ description: 'Unused days of the former plan, taken off the price.' }),
    due: money,
    paid: money.nullable(),
    refunded: money.nullable(),
    renews: z.boolean().meta({ description: 'The payment provider charges again at the end of each span.' }),
    provider: z.string(),
    pay_url: z.string().nullable().meta({ description: 'Where the member pays, as long as the order can be paid.' }),
    instructions: z.string().nullable().meta({ description: 'How the member pays, where there is no address.' }),
    buyer: z.array(z.string()).meta({ description: "Lines of the buyer's name and address on the receipt." }),
    order_url: z.string(),
    receipt_url: z.string().nullable(),
    created_at: instant,
    expires_at: instant,
    paid_at: instant.nullable(),
    granted_at: instant.nullable(),
    is_final: z.boolean().meta({ description: 'Nothing more happens by itself.' }),
  })
  .meta({ id: 'Order' })

const choice = {
  plan: text(64).optional().meta({ description: 'With `interval`; or else `pack`.' }),
  interval: interval.optional(),
  pack: text(64).optional(),
  currency: text(3).optional().meta({ description: 'The first one of the item by default.' }),
  provider: text(64).optional().meta({ description: 'The first one of the configuration by default.' }),
}

export const listOffers = defineEndpoint({
  method: 'get',
  path: '/api/membership/offers',
  security: 'session',
  summary: 'Returns the plans and packs that the account can buy, and what each would do.',
  response: createListSchema(offer, {
    providers: z.array(z.strictObject({ name: z.string(), label: z.string() })),
  }),
  errors: ['not_found'],
})

export const quoteOrder = defineEndpoint({
  method: 'post',
  path: '/api/membership/orders/quote',
  security: 'session',
  summary: 'Returns what an order would do and cost, and changes nothing.',
  body: z.object(choice),
  response: z.strictObject({
    item,
    event,
    price: money,
    credit: money,
    credited_days: count,
    due: money,
    starts_at: instant.nullable().meta({ description: 'Null: when it is paid.' }),
    ends_at: instant.nullable().meta({ description: 'Null: the credits have no end.' }),
    interrupts: z.string().nullable().meta({ description: 'The name of the plan that it replaces or interrupts.' }),
    renews: z.boolean(),
    provider: z.string(),
    checkout_url: z.string(),
  }),
  errors: ['not_found', 'order_refused', 'temporarily_unavailable'],
})

export const createOrder = defineEndpoint({
  method: 'post',
  path: '/api/membership/orders',
  security: 'session',
  summary: 'Orders a plan or a pack, and opens its payment. The same request id is the same order.',
  body: z.object({
    ...choice,
    request_id: z
      .string()
      .regex(/^[\w-]{8,64}$/)
      .meta({ description: 'Chosen by the client; a repeat returns the order of the first.' }),
    max_due: z
      .int()
      .min(0)
      .optional()
      .meta({ description: 'The most that the order may cost, in minor units: `due` of the quote that the member was shown.' }),
  }),
  status: 201,
  response: order,
  errors: ['not_found', 'order_refused', 'temporarily_unavailable'],
})

export const listOrders = defineEndpoint({
  method: 'get',
  path: '/api/membership/orders',
  security: 'session',
  summary: "Returns the account's orders, newest first.",
  query: z.object({
    before: text(64).optional().meta({ description: 'The id of an order: those that are older.' }),
    limit: z.coerce.number().int().min(1).max(100).default(25),
  }),
  response: createListSchema(order, {
    renewal: z
      .strictObject({
        plan: z.string(),
        name: z.string(),
        state: z.enum(['active', 'past_due', 'cancelled']),
        renews: z.boolean(),
        ends_at: instant.nullable(),
      })
      .nullable()
      .meta({ description: 'The plan that was bought and runs.' }),
    spends_packs: z.boolean().meta({ description: 'Whether requests go on with bought packs when the plan is used up.' }),
  }),
  errors: ['not_found'],
})

const finding = z.enum([
  'not_opened',
  'not_paid',
  'waiting_for_operator',
  'no_notification',
  'notification_refused',
  'provider_unavailable',
  'misconfigured',
  'amount',
  'currency',
  'payment_of_another_order',
  'account_deleted',
  'never_begins',
  'credit_used',
  'paid_twice',
  'not_delivered',
  'refunding',
  'disputed',
  'expired',
  'cancelled',
])

const explainedOrder = z.strictObject({
  order,
  steps: z.array(z.strictObject({ at: instant, kind: z.enum(orderStepKinds) })),
  interval: seconds.meta({ description: 'Ask again after so long, while it is not final.' }),
  missing: z.array(finding).meta({ description: 'What is missing, the most important first.' }),
})

export const showOrder = defineEndpoint({
  method: 'get',
  path: '/api/membership/orders/{id}',
  security: 'session',
  summary: 'Returns an order with its story and what is missing.',
  response: explainedOrder,
  errors: ['not_found'],
})

export const checkOrder = defineEndpoint({
  method: 'post',
  path: '/api/membership/orders/{id}/check',
  security: 'session',
  summary: 'Asks the payment provider about an order, and delivers what was paid.',
  response: explainedOrder,
  errors: ['not_found'],
})

export const cancelOrder = defineEndpoint({
  method: 'post',
  path: '/api/membership/orders/{id}/cancel',
  security: 'session',
  summary: 'Cancels an order that is not paid. Returns it as it is then: it may have been paid meanwhile.',
  response: explainedOrder,
  errors: ['not_found'],
})

export const setOrderBuyer = defineEndpoint({
  method: 'post',
  path: '/api/membership/orders/{id}/buyer',
  security: 'session',
  summary:
    "Sets the buyer's name and address on the receipt, in lines; none: the account's address stands there. Orders that follow have the same.",
  body: z.object({ lines: z.array(text(maxBuyerLineChars)).max(maxBuyerLines) }),
  response: explainedOrder,
  errors: ['not_found'],
})

export const cancelRenewal = defineEndpoint({
  method: 'post',
  path: '/api/membership/renewal/cancel',
  security: 'session',
  summary: 'Lets the plan end with what is paid; nothing more is charged.',
  response: z.strictObject({ ok }),
  errors: ['not_found', 'order_refused', 'temporarily_unavailable'],
})

export const openPortal = defineEndpoint({
  method: 'post',
  path: '/api/membership/payment-portal',
  security: 'session',
  summary: "Returns the address of the payment provider's page for cards and invoices.",
  response: z.strictObject({ url: z.string() }),
  errors: ['not_found', 'order_refused'],
})

export const setPackUse = defineEndpoint({
  method: 'post',
  path: '/api/membership/pack-use',
  security: 'session',
  summary: 'Switches whether requests go on with bought packs when the plan is used up.',
  body: z.object({ enabled: z.boolean() }),
  response: z.strictObject({ enabled: z.boolean() }),
  errors: ['not_found'],
})
