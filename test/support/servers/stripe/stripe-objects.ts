/** The objects of the stand-in for Stripe, and the events about them. */
import { createHmac } from 'node:crypto'

export interface Parameters {
  [name: string]: string | Parameters
}

// Objects of an API whose shapes the tests check.
// eslint-disable-next-line typescript/no-explicit-any
export type StripeObject = Record<string, any>

/** A failure as the API reports it. */
export class StripeRefusal extends Error {
  readonly status: number
  readonly type: string
  readonly code: string | undefined
  readonly param: string | undefined

  constructor(status: number, type: string, message: string, code?: string, param?: string) {
    super(message)
    this.status = status
    this.type = type
    this.code = code
    this.param = param
  }
}

export interface StripeEvent {
  readonly id: string
  readonly type: string
  readonly created: number
  readonly object: StripeObject
}

export class StripeObjects {
  /** In the order in which they happened; a test delivers them. */
  readonly events: StripeEvent[] = []
  readonly endpoints: StripeObject[] = []
  /** Whether a bank accepts charges without the member. */
  acceptsCharges: 'yes' | 'no' | 'asks' = 'yes'
  protected readonly objects = new Map<string, StripeObject>()
  readonly #now: () => number
  readonly #webhookSecret: string
  #count = 0

  constructor(now: () => number, webhookSecret: string) {
    this.#now = now
    this.#webhookSecret = webhookSecret
  }

  get(id: string): StripeObject {
    const object = this.objects.get(id)
    if (object === undefined)
      throw new StripeRefusal(404, 'invalid_request_error', `No such object: '${id}'`, 'resource_missing', 'id')
    return object
  }

  list(kind: string): StripeObject[] {
    return [...this.objects.values()].filter(({ object }) => object === kind)
  }

  /** An event as it is sent, signed now or at another time, by this endpoint's secret or another one. */
  sign(event: Pick<StripeEvent, 'id' | 'type' | 'object'>, { at = this.#now(), secret = this.#webhookSecret } = {}) {
    const timestamp = Math.floor(at / 1000)
    const body = JSON.stringify({
      id: event.id,
      object: 'event',
      type: event.type,
      created: timestamp,
      data: { object: event.object },
    })
    const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')
    return { headers: { 'content-type': 'application/json', 'stripe-signature': `t=${timestamp},v1=${signature}` }, body }
  }

  protected invoice(
    subscription: StripeObject,
    { amount, reason, isPaid }: { amount: number; reason: string; isPaid: boolean },
  ): StripeObject {
    const { price } = subscription['items'].data[0]
    const invoice = this.add('invoice', 'in', {
      status: 'open',
      billing_reason: reason,
      currency: price.currency,
      amount_due: amount,
      amount_paid: 0,
      created: this.seconds(),
      status_transitions: { paid_at: null },
      payments: { data: [] },
      parent: { type: 'subscription_details', subscription_details: { subscription: subscription['id'] } },
    })
    invoice['hosted_invoice_url'] = `https://invoice.stripe.example/${invoice['id']}`
    if (isPaid) this.recordInvoicePayment(invoice)
    return invoice
  }

  protected recordInvoicePayment(invoice: StripeObject): void {
    const { amount_due: amount, currency } = invoice
    const payment =
      amount === 0
        ? []
        : [
            {
              status: 'paid',
              payment: { type: 'payment_intent', payment_intent: this.charge({ amount, currency, metadata: {} }) },
            },
          ]
    Object.assign(invoice, {
      status: 'paid',
      amount_paid: amount,
      payments: { data: payment },
      status_transitions: { paid_at: this.seconds() },
    })
  }

  protected charge({
    amount,
    currency,
    metadata,
    slow = false,
  }: {
    amount: number
    currency: string
    metadata: unknown
    slow?: boolean
  }): string {
    const intent = this.add('payment_intent', 'pi', {
      amount,
      currency,
      metadata,
      status: slow ? 'processing' : 'succeeded',
      latest_charge: null,
    })
    intent['latest_charge'] = this.add('charge', 'ch', {
      amount,
      currency,
      amount_refunded: 0,
      disputed: false,
      payment_intent: intent['id'],
    })['id']
    return intent['id']
  }

  /** With the objects in place of the ids that `expand` names; `data.payments` of a list is always there. */
  protected expand(object: StripeObject, { expand = {} }: Parameters): StripeObject {
    const result: StripeObject = { ...object }
    for (const path of Object.values(expand as Parameters).map(String)) {
      const [name = '', inner] = path.split('.')
      if (typeof result[name] !== 'string') continue
      result[name] = { ...this.get(result[name]) }
      if (inner !== undefined && typeof result[name][inner] === 'string')
        result[name][inner] = { ...this.get(result[name][inner]) }
    }
    return result
  }

  protected add(object: string, prefix: string, fields: StripeObject): StripeObject {
    const added = { id: this.nextId(prefix), ...fields, object }
    this.objects.set(added.id, added)
    return added
  }

  protected emit(type: string, object: StripeObject): void {
    this.events.push({ id: this.nextId('evt'), type, created: this.seconds(), object: structuredClone(object) })
  }

  protected nextId(prefix: string): string {
    return `${prefix}_${String(++this.#count).padStart(6, '0')}`
  }

  protected seconds(): number {
    return Math.floor(Math.round(this.#now()) / 1000)
  }
}

export function addInterval(seconds: number, interval: string): number {
  const date = new Date(seconds * 1000)
  if (interval === 'year') date.setUTCFullYear(date.getUTCFullYear() + 1)
  else date.setUTCMonth(date.getUTCMonth() + 1)
  return date.getTime() / 1000
}
