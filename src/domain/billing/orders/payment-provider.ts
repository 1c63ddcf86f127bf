/**
 * The port of payment providers. A notification is only a hint for every provider: what is granted follows from `query`. `create` is
 * idempotent by the order's id and `refund` by the refund's id, so that both can be repeated after a lost answer.
 */
import type { Money } from '../money.ts'

type Language = 'en' | 'zh'

/** How often a plan is paid. */
export type Interval = 'month' | 'year'

export interface PaymentProvider {
  /** `stripe`, `manual`, `demo`, or the name in the configuration. */
  readonly name: string
  /** What the member reads on the button. */
  readonly label: Readonly<Record<Language, string>>
  /** The operator confirms by hand that money has arrived: `query` knows of none. */
  readonly isConfirmedByHand: boolean
  /** Refunds by its API; where it does not, the operator sends the money back and the gateway records that. */
  readonly canRefund: boolean
  /** Opens a payment; repeated for the same order, it returns the same payment. @throws PaymentProviderError */
  create(checkout: Checkout): Promise<OpenedCheckout>
  /** What the provider knows about the payment now. @throws PaymentProviderError */
  query(payment: PaymentRef): Promise<PaymentFacts>
  /** Closes a payment that is open, so that it cannot be paid any more. Does nothing to one that is paid or closed. @throws PaymentProviderError */
  cancel(payment: PaymentRef): Promise<void>
  /** Starts a refund; repeated with the same refund id, it starts no other and returns what the first has become. @throws PaymentProviderError */
  refund(payment: PaymentRef, money: Money, refundId: string): Promise<RefundFacts>
  /** Reads raw bytes and headers, and decides nothing. @throws PaymentNotificationError */
  readNotification(notification: RawNotification): Promise<NotificationFacts>
  /** Where the provider charges renewals by itself. */
  readonly subscriptions?: ProviderSubscriptions
  /** What `doctor` compares and sends. */
  readonly diagnose?: {
    /** Where the provider sends notifications; null: it has no list, because each payment names the address. */
    listEndpoints(): Promise<readonly NotificationEndpoint[] | null>
    /** A notification about nothing, signed as the provider signs. */
    signTestNotification(): Promise<RawNotification>
  }
}

export interface NotificationEndpoint {
  readonly url: string
  /** Events that the provider does not send there, and should. */
  readonly missingEvents: readonly string[]
}

export interface ProviderSubscriptions {
  query(reference: string): Promise<ProviderSubscriptionFacts>
  /** No further renewal; repeated, it changes nothing. */
  cancelAtEnd(reference: string): Promise<void>
  cancelNow(reference: string): Promise<void>
  /** The provider's page for cards and invoices. */
  openPortal(reference: string, returnUrl: string): Promise<string>
  /** What `change` would charge now. */
  previewChange(reference: string, to: PlanPriceAtProvider): Promise<Money>
  /**
   * Changes the plan and charges the difference at once, idempotent by the order. `query` then tells whether it was paid. Refused, unless it is
   * done, where it would charge another amount than was announced, or the order is too old. @throws PaymentProviderError
   */
  change(reference: string, to: PlanPriceAtProvider, ordered: OrderedChange): Promise<OpenedCheckout>
  /** The price of the following renewals, with nothing to pay now. */
  changeAtRenewal(reference: string, to: PlanPriceAtProvider): Promise<void>
}

export interface PlanPriceAtProvider {
  readonly title: string
  readonly money: Money
  readonly interval: Interval
}

export interface OrderedChange {
  /** The idempotency key. */
  readonly order: string
  /** What `previewChange` answered, and the member has agreed to. */
  readonly due: Money
  /** Unused days count from here, however late the provider answers. */
  readonly orderedAt: number
  readonly expiresAt: number
}

export interface Checkout {
  /** The idempotency key. */
  readonly order: string
  /** What the member and the operator read: `2026-000123`. */
  readonly number: string
  readonly account: { readonly id: string; readonly email: string | null }
  readonly title: string
  readonly money: Money
  /** Charged again at this interval by the provider; null: once. */
  readonly renews: Interval | null
  readonly returnUrl: string
  readonly cancelUrl: string
  readonly notifyUrl: string
  readonly language: Language
  readonly expiresAt: number
}

export interface OpenedCheckout {
  /** The provider's id of the payment. */
  readonly reference: string
  /** Where the member pays; null: by `instructions`, or nothing is left to do. */
  readonly url: string | null
  /** The text for a transfer. */
  readonly instructions: string | null
}

export interface PaymentRef {
  readonly order: string
  readonly reference: string
  /** `PaymentFacts.payment`, once there is one. */
  readonly payment: string | null
}

export interface PaymentFacts {
  /** `open`: not paid yet; `pending`: paid, but not final; `paid`; `closed`: it will never be paid. */
  readonly state: 'open' | 'pending' | 'paid' | 'closed'
  /** What was really paid, with tax; null before. */
  readonly money: Money | null
  /** The provider's id of the money, unique over all payments of the provider; null before. */
  readonly payment: string | null
  /** Refunded so far, in minor units of `money`. */
  readonly refunded: number
  readonly dispute: 'none' | 'open' | 'won' | 'lost'
  /** The provider's subscription, where it renews. */
  readonly subscription: string | null
  /** The provider's words for a payment that failed. */
  readonly reason?: string
}

export interface ProviderSubscriptionFacts {
  /** `cancelled`: runs to the end of what is paid; `ended`: charges nothing any more. */
  readonly state: 'active' | 'past_due' | 'cancelled' | 'ended'
  /** Paid renewals, oldest first, without the first payment and without `change`. */
  readonly invoices: readonly ProviderInvoice[]
  /** When the provider charges next; null: never. */
  readonly nextChargeAt: number | null
}

export interface ProviderInvoice {
  /** The provider's id of the invoice: `PaymentRef.reference` of the renewal's order. */
  readonly reference: string
  readonly payment: string
  readonly money: Money
  readonly paidAt: number
}

export interface RefundFacts {
  readonly state: 'done' | 'pending' | 'failed'
  /** The provider's id of the refund. */
  readonly reference: string
  readonly reason?: string
}

export interface RawNotification {
  readonly method: 'GET' | 'POST'
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Without the question mark. */
  readonly query: string
  readonly body: Buffer
  readonly receivedAt: number
}

export interface NotificationFacts {
  /** The provider's id of the notification, for the order's story. */
  readonly id: string | null
  readonly hints: readonly NotificationHint[]
  readonly answer: NotificationAnswer
}

/** Which order or subscription to ask the provider about. */
export type NotificationHint =
  | { readonly kind: 'order'; readonly order: string }
  | { readonly kind: 'reference'; readonly reference: string }
  | { readonly kind: 'payment'; readonly payment: string }
  | { readonly kind: 'subscription'; readonly reference: string }

export interface NotificationAnswer {
  readonly status: number
  readonly body: string
}

/** A notification that gives no hint. */
export class PaymentNotificationError extends Error {
  override readonly name = 'PaymentNotificationError'
  /** `signature`: of another secret, or none; `stale`: older than the tolerance; `malformed`: no notification of this provider. */
  readonly reason: 'signature' | 'stale' | 'malformed'
  /** The setting that cures it, for the operator. */
  readonly setting: string | null

  constructor(
    reason: PaymentNotificationError['reason'],
    message: string,
    setting: string | null = null,
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.reason = reason
    this.setting = setting
  }
}

/** The provider did not do what was asked. The message is for the operator and has no secrets. */
export class PaymentProviderError extends Error {
  override readonly name = 'PaymentProviderError'
  /** `unavailable`: worth repeating; `refused`: it will not do this; `misconfigured`: until the operator changes `setting`. */
  readonly reason: 'unavailable' | 'refused' | 'misconfigured'
  readonly setting: string | null

  constructor(reason: PaymentProviderError['reason'], message: string, setting: string | null = null, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
    this.setting = setting
  }
}
