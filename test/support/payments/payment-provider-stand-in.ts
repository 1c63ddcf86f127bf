/**
 * A payment provider in memory, written against the port alone. A test pays, refunds and disputes there; the stand-in keeps its state while
 * the gateway is killed and started again.
 */
import type { Money } from '../../../src/domain/billing/money.ts'
import { PaymentNotificationError, PaymentProviderError } from '../../../src/domain/billing/orders/payment-provider.ts'
import type {
  Checkout,
  OpenedCheckout,
  OrderedChange,
  PaymentFacts,
  PaymentProvider,
  PaymentRef,
  PlanPriceAtProvider,
  ProviderInvoice,
  ProviderSubscriptionFacts,
  RawNotification,
  RefundFacts,
} from '../../../src/domain/billing/orders/payment-provider.ts'

interface StandInPayment {
  readonly order: string
  readonly reference: string
  readonly money: Money
  readonly renews: 'month' | 'year' | null
  state: PaymentFacts['state']
  paid: Money | null
  payment: string | null
  refunded: number
  dispute: PaymentFacts['dispute']
  subscription: string | null
}

interface StandInSubscription {
  readonly reference: string
  state: ProviderSubscriptionFacts['state']
  price: Money
  changedBy?: StandInPayment
  readonly invoices: ProviderInvoice[]
  nextChargeAt: number | null
}

export class PaymentProviderStandIn implements PaymentProvider {
  readonly name: string
  readonly label = { en: 'Pay', zh: '付款' }
  readonly isConfirmedByHand = false
  readonly canRefund = true
  readonly payments = new Map<string, StandInPayment>()
  readonly refunds = new Map<string, RefundFacts & { readonly order: string; readonly amount: number }>()
  readonly providerSubscriptions = new Map<string, StandInSubscription>()
  /** What `previewChange` answers. */
  changePrice: Money | null = null
  /** Runs before each answer; throws for a provider that fails. */
  beforeAnswer: (call: string) => void = () => undefined
  /** Runs after the provider has done it, before the gateway has the answer. */
  beforeReturn: (call: string) => void = () => undefined
  refundState: RefundFacts['state'] = 'done'
  #ids = 0

  constructor(name = 'stand-in') {
    this.name = name
  }

  async create(checkout: Checkout): Promise<OpenedCheckout> {
    this.beforeAnswer('create')
    const payment = this.payments.get(checkout.order) ?? this.#add(checkout.order, checkout.money, checkout.renews)
    this.beforeReturn('create')
    return { reference: payment.reference, url: `https://pay.example/${payment.reference}`, instructions: null }
  }

  async query({ order, reference: asked }: PaymentRef): Promise<PaymentFacts> {
    this.beforeAnswer('query')
    for (const { reference, invoices } of this.providerSubscriptions.values()) {
      const invoice = invoices.find((each) => each.reference === asked)
      if (invoice === undefined) continue
      return {
        state: 'paid',
        money: invoice.money,
        payment: invoice.payment,
        refunded: 0,
        dispute: 'none',
        subscription: reference,
      }
    }
    const { state, paid: money, payment, refunded, dispute, subscription } = this.#get(order)
    return { state, money, payment, refunded, dispute, subscription }
  }

  async cancel({ order }: PaymentRef): Promise<void> {
    this.beforeAnswer('cancel')
    const payment = this.#get(order)
    if (payment.state === 'open') payment.state = 'closed'
  }

  async refund({ order }: PaymentRef, { amount }: Money, refundId: string): Promise<RefundFacts> {
    this.beforeAnswer('refund')
    // A renewal has an invoice in place of a payment.
    const payment = this.payments.get(order) ?? { refunded: 0 }
    const made = this.refunds.get(refundId)
    const state = made !== undefined && made.state !== 'pending' ? made.state : this.refundState
    if (state === 'done' && made?.state !== 'done') payment.refunded += amount
    const facts = { state, reference: `re_${refundId}`, order, amount, ...(state === 'failed' ? { reason: 'card closed' } : {}) }
    this.refunds.set(refundId, facts)
    this.beforeReturn('refund')
    return facts
  }

  async readNotification({ body, headers }: RawNotification) {
    if (headers.signature !== 'right')
      throw new PaymentNotificationError('signature', 'another secret', 'payments.providers.stand-in.secret')
    const hints = JSON.parse(body.toString()) as Awaited<ReturnType<PaymentProvider['readNotification']>>['hints']
    return { id: null, hints, answer: { status: 200, body: 'ok' } }
  }

  readonly subscriptions = {
    query: async (reference: string): Promise<ProviderSubscriptionFacts> => {
      this.beforeAnswer('subscriptions.query')
      const { state, invoices, nextChargeAt } = this.getSubscription(reference)
      return { state, invoices: [...invoices], nextChargeAt }
    },
    cancelAtEnd: async (reference: string): Promise<void> => {
      this.beforeAnswer('cancelAtEnd')
      this.getSubscription(reference).state = 'cancelled'
    },
    cancelNow: async (reference: string): Promise<void> => {
      this.beforeAnswer('cancelNow')
      this.getSubscription(reference).state = 'ended'
    },
    openPortal: async (reference: string): Promise<string> => `https://pay.example/portal/${reference}`,
    previewChange: async (_reference: string, { money }: PlanPriceAtProvider): Promise<Money> => {
      this.beforeAnswer('previewChange')
      return this.changePrice ?? money
    },
    /** As Stripe: a subscription that has the price already names its last payment. */
    change: async (reference: string, { money }: PlanPriceAtProvider, { order }: OrderedChange): Promise<OpenedCheckout> => {
      this.beforeAnswer('change')
      const subscription = this.getSubscription(reference)
      const made = subscription.price.amount === money.amount ? subscription.changedBy : undefined
      const payment = made ?? this.#add(order, this.changePrice ?? money, null)
      payment.subscription = reference
      subscription.price = money
      subscription.changedBy = payment
      this.pay(payment.order)
      this.beforeReturn('change')
      return { reference: payment.reference, url: null, instructions: null }
    },
    changeAtRenewal: async (reference: string, { money }: PlanPriceAtProvider): Promise<void> => {
      this.beforeAnswer('changeAtRenewal')
      this.getSubscription(reference).price = money
    },
  }

  /** The member pays, all of it or another amount. */
  pay(order: string, money: Money = this.#get(order).money): void {
    const payment = this.#get(order)
    if (payment.state !== 'open') return
    payment.state = 'paid'
    payment.paid = money
    payment.payment = `pay_${(this.#ids += 1)}`
    if (payment.renews === null) return
    payment.subscription = `psub_${payment.order}`
    this.providerSubscriptions.set(payment.subscription, {
      reference: payment.subscription,
      state: 'active',
      price: payment.money,
      invoices: [],
      nextChargeAt: null,
    })
  }

  /** The provider charges a renewal. */
  renew(reference: string, paidAt: number): void {
    const subscription = this.getSubscription(reference)
    const id = (this.#ids += 1)
    subscription.state = 'active'
    subscription.invoices.push({ reference: `inv_${id}`, payment: `pay_${id}`, money: subscription.price, paidAt })
  }

  getSubscription(reference: string): StandInSubscription {
    const subscription = this.providerSubscriptions.get(reference)
    if (subscription === undefined) throw new PaymentProviderError('refused', `there is no subscription ${reference}`)
    return subscription
  }

  /** A notification that the provider signs. */
  signNotification(hints: readonly unknown[], receivedAt: number, signature = 'right'): RawNotification {
    return { method: 'POST', headers: { signature }, query: '', body: Buffer.from(JSON.stringify(hints)), receivedAt }
  }

  #add(order: string, money: Money, renews: StandInPayment['renews']): StandInPayment {
    const reference = `chk_${(this.#ids += 1)}`
    const unpaid = { state: 'open', paid: null, payment: null, refunded: 0, dispute: 'none', subscription: null } as const
    const payment: StandInPayment = { order, reference, money, renews, ...unpaid }
    this.payments.set(order, payment)
    return payment
  }

  #get(order: string): StandInPayment {
    const payment = this.payments.get(order)
    if (payment === undefined) throw new PaymentProviderError('refused', `there is no payment of ${order}`)
    return payment
  }
}

/** An operator who confirms transfers by hand. */
export function createManualProvider(name = 'manual'): PaymentProvider {
  const nothing: PaymentFacts = { state: 'open', money: null, payment: null, refunded: 0, dispute: 'none', subscription: null }
  return {
    name,
    label: { en: 'Bank transfer', zh: '银行转账' },
    isConfirmedByHand: true,
    canRefund: false,
    create: async ({ number }) => ({ reference: number, url: null, instructions: `Transfer with ${number}` }),
    query: async () => nothing,
    cancel: async () => undefined,
    refund: async () => ({ state: 'failed', reference: '' }),
    readNotification: async () => {
      throw new PaymentNotificationError('malformed', 'there are no notifications')
    },
  }
}
