/** Stripe's webhooks: signature, age, and which payment or subscription an event is about. Nothing else of an event is used. */
import { z } from 'zod'
import { PaymentNotificationError } from '../../domain/billing/orders/payment-provider.ts'
import type { NotificationFacts, NotificationHint, RawNotification } from '../../domain/billing/orders/payment-provider.ts'
import { tryParseJson } from '../../system/parse-json.ts'

const setting = 'payments.providers.stripe.webhookSecret'
/** Stripe signs each attempt anew, so that a late event is not old. */
const toleranceSeconds = 300
const signatureHeader = 'stripe-signature'
export const orderKey = 'svc_gateway_order'

/** The events that docs/payments.md tells to send. */
export const neededEvents = [
  'checkout.session.completed',
  'checkout.session.expired',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'invoice.paid',
  'invoice.payment_failed',
  'customer.subscription.updated',
  'customer.subscription.deleted',
  'charge.refunded',
  'charge.dispute.created',
  'charge.dispute.closed',
  'refund.failed',
] as const

const reference = z.union([z.string(), z.object({ id: z.string() }).transform(({ id }) => id)]).nullish()
/** Of an event's object; older versions of the API name a subscription and an intent on the invoice itself. */
const eventSchema = z.object({
  id: z.string().max(255),
  object: z.literal('event'),
  data: z.object({
    object: z.object({
      id: z.string().optional(),
      object: z.string().optional(),
      metadata: z.record(z.string(), z.unknown()).nullish(),
      payment_intent: reference,
      subscription: reference,
      parent: z.object({ subscription_details: z.object({ subscription: reference }).nullish() }).nullish(),
    }),
  }),
})

export async function readStripeNotification(
  { headers, body, receivedAt }: RawNotification,
  webhookSecret: string,
): Promise<NotificationFacts> {
  const header = headers[signatureHeader]
  if (header === undefined)
    throw new PaymentNotificationError(
      'signature',
      'The notification has no Stripe-Signature: it is not from Stripe, or a proxy removed it.',
    )
  const { default: Stripe } = await import('stripe')
  try {
    Stripe.webhooks.signature?.verifyHeader(body, header, webhookSecret, toleranceSeconds, undefined, receivedAt)
  } catch (error) {
    throw explainRefusal(error)
  }
  const parsedEvent = eventSchema.safeParse(tryParseJson(body.toString('utf8')))
  if (!parsedEvent.success) throw new PaymentNotificationError('malformed', 'The notification is signed, but no event of Stripe.')
  const { id, data } = parsedEvent.data
  return { id, hints: findHints(data.object), answer: { status: 200, body: 'ok' } }
}

/** A notification that `doctor` sends: good for nothing but to see that it arrives. */
export async function signStripeTest(webhookSecret: string, now: number): Promise<RawNotification> {
  const { default: Stripe } = await import('stripe')
  const payload = JSON.stringify({ id: 'evt_svc_gateway_doctor', object: 'event', data: { object: { object: 'test' } } })
  const signature = Stripe.webhooks.generateTestHeaderString({
    payload,
    secret: webhookSecret,
    timestamp: Math.floor(now / 1000),
  })
  const headers = { 'content-type': 'application/json', [signatureHeader]: signature }
  return { method: 'POST', headers, query: '', body: Buffer.from(payload), receivedAt: now }
}

function explainRefusal(error: unknown): PaymentNotificationError {
  const options = { cause: error }
  const { message } = Object(error) as { readonly message?: string }
  if (message?.startsWith('Timestamp outside') === true)
    return new PaymentNotificationError(
      'stale',
      'The notification was signed more than five minutes ago: it was sent again by someone else, or the clock of this machine is wrong.',
      null,
      options,
    )
  return new PaymentNotificationError(
    'signature',
    "The notification's signature does not fit: the secret is of another endpoint or mode, or a proxy changed the body.",
    setting,
    options,
  )
}

type EventObject = z.output<typeof eventSchema>['data']['object']

function findHints({ id, object, metadata, payment_intent, subscription, parent }: EventObject): NotificationHint[] {
  const order = metadata?.[orderKey]
  switch (object) {
    case 'checkout.session':
      return typeof order === 'string' ? [{ kind: 'order', order }] : toHints('reference', id)
    case 'payment_intent':
      return typeof order === 'string' ? [{ kind: 'order', order }] : toHints('payment', id)
    case 'invoice':
      return [...toHints('reference', id), ...toHints('subscription', parent?.subscription_details?.subscription ?? subscription)]
    case 'subscription':
      return toHints('subscription', id)
    case 'charge':
    case 'refund':
    case 'dispute':
      return toHints('payment', payment_intent)
    default:
      return []
  }
}

function toHints(kind: 'reference' | 'payment' | 'subscription', id: string | null | undefined): NotificationHint[] {
  if (typeof id !== 'string' || id === '' || id.length > 255) return []
  return [kind === 'payment' ? { kind, payment: id } : { kind, reference: id }]
}
