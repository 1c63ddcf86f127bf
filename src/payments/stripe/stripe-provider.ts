/** Stripe Checkout, once and recurring. No card data passes through the gateway: members pay on Stripe's page. */
import type Stripe from 'stripe'
import type { Money } from '../../domain/billing/money.ts'
import { PaymentProviderError } from '../../domain/billing/orders/payment-provider.ts'
import type {
  Checkout,
  NotificationFacts,
  OpenedCheckout,
  PaymentFacts,
  PaymentProvider,
  PaymentRef,
  RawNotification,
  RefundFacts,
} from '../../domain/billing/orders/payment-provider.ts'
import { toStripeAmount } from './stripe-amounts.ts'
import { StripeClient, getStripeFailure } from './stripe-client.ts'
import { neededEvents, orderKey, readStripeNotification, signStripeTest } from './stripe-notifications.ts'
import { queryInvoice, querySession } from './stripe-payment-facts.ts'
import { StripeSubscriptions } from './stripe-subscriptions.ts'

interface StripeSettings {
  readonly secretKey: string | null
  readonly webhookSecret: string | null
  readonly automaticTax: boolean
  readonly endpoint: string | null
}

interface StripeDeps {
  readonly clock: { readonly now: () => number }
  readonly fetch: typeof globalThis.fetch
}

const refundKey = 'svc_gateway_refund'
/** One request; an order has a handful of refunds. */
const maxRefunds = 100
const maxEndpoints = 100

export class StripeProvider implements PaymentProvider {
  readonly name = 'stripe'
  readonly label = { en: 'Card and more (Stripe)', zh: '银行卡等方式（Stripe）' }
  readonly isConfirmedByHand = false
  readonly canRefund = true
  readonly subscriptions: StripeSubscriptions
  readonly #client: StripeClient
  readonly #webhookSecret: string
  readonly #automaticTax: boolean
  readonly #clock: StripeDeps['clock']

  /** The check of the configuration requires both secrets. */
  constructor({ secretKey, webhookSecret, automaticTax, endpoint }: StripeSettings, { clock, fetch }: StripeDeps) {
    this.#client = new StripeClient({ secretKey: secretKey ?? '', endpoint, fetch })
    this.#webhookSecret = webhookSecret ?? ''
    this.#automaticTax = automaticTax
    this.#clock = clock
    this.subscriptions = new StripeSubscriptions(this.#client, clock)
  }

  async create(checkout: Checkout): Promise<OpenedCheckout> {
    const parameters = this.#toParameters(checkout)
    const open = async (given: Stripe.Checkout.SessionCreateParams, key: string): Promise<OpenedCheckout> => {
      const { id, url } = await this.#client.call((stripe) =>
        stripe.checkout.sessions.create(given, { idempotencyKey: `${checkout.order}-${key}` }),
      )
      return { reference: id, url, instructions: null }
    }
    try {
      return await open(parameters, 'checkout')
    } catch (error) {
      const { customer_email: email, ...others } = parameters
      if (email === undefined || getStripeFailure(error).param !== 'customer_email') throw error
      // An address that is good here and not there: Stripe asks for another one.
      return open(others, 'checkout-without-email')
    }
  }

  #toParameters(checkout: Checkout): Stripe.Checkout.SessionCreateParams {
    const { order, number, account, title, money, renews, returnUrl, cancelUrl, language, expiresAt } = checkout
    const metadata = { [orderKey]: order }
    const description = `${title} (${number})`
    return {
      mode: renews === null ? 'payment' : 'subscription',
      line_items: [
        {
          quantity: 1,
          price_data: {
            currency: money.currency.toLowerCase(),
            unit_amount: toStripeAmount(money),
            product_data: { name: title },
            // The member pays what our page announced, and not more.
            tax_behavior: 'inclusive',
            ...(renews === null ? {} : { recurring: { interval: renews } }),
          },
        },
      ],
      ...(renews === null
        ? { payment_intent_data: { metadata, description } }
        : { subscription_data: { metadata, description: title } }),
      metadata,
      client_reference_id: order,
      ...(account.email === null ? {} : { customer_email: account.email }),
      automatic_tax: { enabled: this.#automaticTax },
      // The order is in one currency, and its amount is compared.
      adaptive_pricing: { enabled: false },
      locale: language,
      success_url: returnUrl,
      cancel_url: cancelUrl,
      expires_at: Math.floor(expiresAt / 1000),
    }
  }

  async query({ reference }: Pick<PaymentRef, 'reference'>): Promise<PaymentFacts> {
    return this.#client.call((stripe) =>
      reference.startsWith('in_') ? queryInvoice(stripe, reference) : querySession(stripe, reference),
    )
  }

  async cancel({ reference }: Pick<PaymentRef, 'reference'>): Promise<void> {
    if ((await this.query({ reference })).state !== 'open') return
    await this.#client.call(async (stripe): Promise<unknown> =>
      reference.startsWith('in_') ? stripe.invoices.voidInvoice(reference) : stripe.checkout.sessions.expire(reference),
    )
  }

  /** Stripe keeps idempotency keys for a day, so an earlier refund is also recognised by its metadata. */
  async refund({ reference, payment }: PaymentRef, money: Money, refundId: string): Promise<RefundFacts> {
    const intent = payment ?? (await this.query({ reference })).payment
    if (intent === null || !intent.startsWith('pi_'))
      throw new PaymentProviderError(
        'refused',
        'No payment of a card or account is behind this order, so nothing can be refunded.',
      )
    const amount = toStripeAmount(money)
    return this.#client.call(async (stripe) => {
      const { data } = await stripe.refunds.list({ payment_intent: intent, limit: maxRefunds })
      const earlierRefund = data.find(({ metadata }) => metadata?.[refundKey] === refundId)
      const refund =
        earlierRefund ??
        (await stripe.refunds.create(
          { payment_intent: intent, amount, metadata: { [refundKey]: refundId } },
          { idempotencyKey: `${refundId}-refund` },
        ))
      return toRefundFacts(refund)
    })
  }

  async readNotification(notification: RawNotification): Promise<NotificationFacts> {
    return readStripeNotification(notification, this.#webhookSecret)
  }

  readonly diagnose = {
    listEndpoints: async () =>
      this.#client.call(async (stripe) => {
        const { data } = await stripe.webhookEndpoints.list({ limit: maxEndpoints })
        return data
          .filter(({ status }) => status === 'enabled')
          .map(({ url, enabled_events }) => ({
            url,
            missingEvents: enabled_events.includes('*') ? [] : neededEvents.filter((event) => !enabled_events.includes(event)),
          }))
      }),
    signTestNotification: async () => signStripeTest(this.#webhookSecret, this.#clock.now()),
  }
}

function toRefundFacts({ id, status, failure_reason }: Stripe.Refund): RefundFacts {
  const state = status === 'succeeded' ? 'done' : status === 'failed' || status === 'canceled' ? 'failed' : 'pending'
  return { state, reference: id, ...(failure_reason === undefined ? {} : { reason: failure_reason }) }
}
