/** Subscriptions at Stripe, which charges their renewals: state, paid invoices, changes of the plan, and the customer portal. */
import { createHash } from 'node:crypto'
import type Stripe from 'stripe'
import type { Money } from '../../domain/billing/money.ts'
import { PaymentProviderError } from '../../domain/billing/orders/payment-provider.ts'
import type {
  OpenedCheckout,
  OrderedChange,
  PlanPriceAtProvider,
  ProviderInvoice,
  ProviderSubscriptionFacts,
  ProviderSubscriptions,
} from '../../domain/billing/orders/payment-provider.ts'
import { fromStripeAmount, toStripeAmount } from './stripe-amounts.ts'
import { getStripeFailure } from './stripe-client.ts'
import type { StripeClient } from './stripe-client.ts'
import { getId, getInvoicePayment } from './stripe-payment-facts.ts'

const daySeconds = 86_400
/** Eight years of months; one request. */
const maxInvoices = 100

export class StripeSubscriptions implements ProviderSubscriptions {
  readonly #client: StripeClient
  readonly #clock: { readonly now: () => number }
  readonly #knownProducts = new Set<string>()

  constructor(client: StripeClient, clock: { readonly now: () => number }) {
    this.#client = client
    this.#clock = clock
  }

  async query(reference: string): Promise<ProviderSubscriptionFacts> {
    const subscription = await this.#client.call((stripe) => stripe.subscriptions.retrieve(reference))
    const { data } = await this.#client.call((stripe) =>
      stripe.invoices.list({ subscription: reference, status: 'paid', limit: maxInvoices, expand: ['data.payments'] }),
    )
    const state = toState(subscription)
    const nextCharge = subscription.items.data[0]?.current_period_end
    return {
      state,
      // The first payment and changes of the plan are orders of their own.
      invoices: data
        .filter(({ billing_reason }) => billing_reason === 'subscription_cycle')
        .map(toInvoice)
        .toReversed(),
      nextChargeAt: state === 'active' && nextCharge !== undefined ? nextCharge * 1000 : null,
    }
  }

  async cancelAtEnd(reference: string): Promise<void> {
    await this.#unlessEnded(reference, (stripe) => stripe.subscriptions.update(reference, { cancel_at_period_end: true }))
  }

  async cancelNow(reference: string): Promise<void> {
    await this.#unlessEnded(reference, (stripe) => stripe.subscriptions.cancel(reference))
  }

  /** What ended before needs no change. */
  async #unlessEnded(reference: string, change: (stripe: Stripe) => Promise<unknown>): Promise<void> {
    const subscription = await this.#client.call((stripe) => stripe.subscriptions.retrieve(reference))
    if (toState(subscription) !== 'ended') await this.#client.call(change)
  }

  async openPortal(reference: string, returnUrl: string): Promise<string> {
    return this.#client.call(async (stripe) => {
      const { customer } = await stripe.subscriptions.retrieve(reference)
      const { url } = await stripe.billingPortal.sessions.create({ customer: getId(customer) ?? '', return_url: returnUrl })
      return url
    })
  }

  async previewChange(reference: string, to: PlanPriceAtProvider): Promise<Money> {
    return this.#preview(reference, await this.#prepareChange(reference, to, this.#clock.now()))
  }

  async #preview(reference: string, { item, prorationDate }: PreparedChange): Promise<Money> {
    const { amount_due, currency } = await this.#client.call((stripe) =>
      stripe.invoices.createPreview({
        subscription: reference,
        subscription_details: { items: [item], proration_behavior: 'always_invoice', proration_date: prorationDate },
      }),
    )
    return fromStripeAmount(amount_due, currency)
  }

  /** The plan changes only when the invoice is paid; where the bank asks the member first, the address leads there. */
  async change(reference: string, to: PlanPriceAtProvider, ordered: OrderedChange): Promise<OpenedCheckout> {
    const { order, due, orderedAt, expiresAt } = ordered
    const preparedChange = await this.#prepareChange(reference, to, orderedAt)
    const { item, prorationDate, isDone } = preparedChange
    if (!isDone) {
      const current = this.#clock.now() < expiresAt ? await this.#preview(reference, preparedChange) : null
      if (current?.amount !== due.amount || current.currency !== due.currency)
        throw new PaymentProviderError(
          'refused',
          'Nothing was charged: what the change of the plan costs is no longer what was shown. Order it again.',
        )
    }
    const { latest_invoice } = await this.#client.call((stripe) =>
      isDone
        ? stripe.subscriptions.retrieve(reference, { expand: ['latest_invoice'] })
        : stripe.subscriptions.update(
            reference,
            {
              items: [item],
              proration_behavior: 'always_invoice',
              proration_date: prorationDate,
              payment_behavior: 'pending_if_incomplete',
              expand: ['latest_invoice'],
            },
            { idempotencyKey: `${order}-change` },
          ),
    )
    if (latest_invoice === null || typeof latest_invoice === 'string')
      throw new PaymentProviderError('unavailable', 'Stripe changed the subscription and named no invoice.')
    const { id, status, hosted_invoice_url } = latest_invoice
    return { reference: id, url: status === 'paid' ? null : (hosted_invoice_url ?? null), instructions: null }
  }

  async changeAtRenewal(reference: string, to: PlanPriceAtProvider): Promise<void> {
    const { item, interval, isDone } = await this.#prepareChange(reference, to, this.#clock.now())
    if (isDone) return
    if (interval !== to.interval)
      throw new PaymentProviderError(
        'refused',
        'Stripe begins another interval at once. Cancel the renewal, and buy the other interval when the plan ends.',
      )
    await this.#client.call((stripe) => stripe.subscriptions.update(reference, { items: [item], proration_behavior: 'none' }))
  }

  async #prepareChange(reference: string, to: PlanPriceAtProvider, at: number) {
    const amount = toStripeAmount(to.money)
    const subscription = await this.#client.call((stripe) => stripe.subscriptions.retrieve(reference))
    const [current] = subscription.items.data
    if (toState(subscription) === 'ended' || current === undefined)
      throw new PaymentProviderError('refused', 'The subscription has ended at Stripe; nothing of it can be changed.')
    const product = await this.#ensureProduct(to.title)
    const { price, current_period_start } = current
    const { currency, unit_amount, recurring } = price
    const interval = recurring?.interval ?? null
    return {
      interval,
      isDone:
        getId(price.product) === product &&
        unit_amount === amount &&
        currency === to.money.currency.toLowerCase() &&
        interval === to.interval,
      item: {
        id: current.id,
        price_data: {
          currency: to.money.currency.toLowerCase(),
          product,
          unit_amount: amount,
          recurring: { interval: to.interval },
          tax_behavior: 'inclusive',
        },
      } satisfies Stripe.SubscriptionUpdateParams.Item,
      // By days, so that the preview and the change minutes later are the same amount.
      prorationDate: Math.max(current_period_start, Math.floor(at / 1000 / daySeconds) * daySeconds),
    }
  }

  /** A changed item needs a product; plans of one title share it. */
  async #ensureProduct(title: string): Promise<string> {
    const id = `svcgateway_${createHash('sha256').update(title).digest('hex').slice(0, 24)}`
    if (this.#knownProducts.has(id)) return id
    try {
      await this.#client.call((stripe) => stripe.products.create({ id, name: title }))
    } catch (error) {
      if (getStripeFailure(error).code !== 'resource_already_exists') throw error
    }
    this.#knownProducts.add(id)
    return id
  }
}

interface PreparedChange {
  readonly item: Stripe.SubscriptionUpdateParams.Item
  readonly prorationDate: number
}

function toState({ status, cancel_at_period_end, cancel_at }: Stripe.Subscription): ProviderSubscriptionFacts['state'] {
  if (status === 'canceled' || status === 'incomplete_expired') return 'ended'
  if (status !== 'active' && status !== 'trialing') return 'past_due'
  return cancel_at_period_end || cancel_at !== null ? 'cancelled' : 'active'
}

function toInvoice(invoice: Stripe.Invoice): ProviderInvoice {
  const { id, amount_paid, currency, status_transitions, created } = invoice
  return {
    reference: id,
    payment: getInvoicePayment(invoice),
    money: fromStripeAmount(amount_paid, currency),
    paidAt: (status_transitions.paid_at ?? created) * 1000,
  }
}
