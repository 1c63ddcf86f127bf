/** What members and operators ask of orders, and the answers. */
import type { Money } from '../../billing/money.ts'
import type { Order, OrderItem, OrderStep, PurchaseEvent } from '../../billing/orders/order.ts'
import type { Interval } from '../../billing/orders/payment-provider.ts'
import type { Plan } from '../../billing/catalog/plan.ts'
import type { Pool } from '../../billing/catalog/product.ts'

export interface OrderRequest {
  /** The client's id of the request, by which a repeated one is recognised: 8 to 64 letters, digits, dashes and underscores. */
  readonly requestId: string
  readonly item:
    | { readonly kind: 'plan'; readonly plan: string; readonly interval: Interval }
    | { readonly kind: 'pack'; readonly pack: string }
  readonly currency: string
  /** By default the first of the configuration. */
  readonly provider?: string
  /** The most that the order may cost, in minor units: what the member was shown. */
  readonly maxDue?: number
  readonly language: 'en' | 'zh'
}

/**
 * Why something cannot be bought. `never_begins`: a plan without an end that is as high applies. `renews_itself`: the running plan is renewed
 * by its provider; it is upgraded there, or its renewal is cancelled first. `nothing_to_pay`: unused days of the running plan are worth as
 * much. `price_changed`: it costs more than the member was shown. `too_many_open`: orders are to be paid or cancelled first. `unavailable`: the provider gives no answer.
 */
export type OrderRefusal =
  | 'nothing_sold'
  | 'unknown_item'
  | 'unknown_price'
  | 'unknown_provider'
  | 'never_begins'
  | 'renews_itself'
  | 'nothing_to_pay'
  | 'price_changed'
  | 'too_many_open'
  | 'unavailable'

export interface OrderRefused {
  readonly kind: 'refused'
  readonly reason: OrderRefusal
}

export interface Quote {
  readonly item: OrderItem
  readonly event: PurchaseEvent
  readonly price: Money
  /** Minor units taken off for `creditedDays` whole unused days of the running plan. */
  readonly credit: number
  readonly creditedDays: number
  readonly formerSubscription: string | null
  readonly due: Money
  readonly provider: string
  /** Null for a pack. */
  readonly startsAt: number | null
  /** Null: the credits have no end. */
  readonly endsAt: number | null
  /** It begins when another plan ends. */
  readonly isWaiting: boolean
  /** The name of the plan that it replaces, or interrupts so that its rest follows. */
  readonly interrupts: string | null
  /** The provider charges again at the end of each span. */
  readonly renews: boolean
  /** The running subscription at the provider, which is changed in place of a new payment. */
  readonly providerSubscription: string | null
}

export type QuoteAnswer = { readonly kind: 'good'; readonly quote: Quote } | OrderRefused
export type OrderAnswer = { readonly kind: 'good'; readonly order: Order } | OrderRefused

/** A pack of the configuration. */
export interface PackOffer {
  readonly id: string
  readonly pool: Pool
  readonly credits: number
  /** Null: the credits have no end. */
  readonly days: number | null
  readonly prices: readonly Money[]
}

/** What an account can buy now. */
export interface Offer {
  readonly item:
    | { readonly kind: 'plan'; readonly plan: Plan; readonly interval: Interval }
    | { readonly kind: 'pack'; readonly pack: PackOffer }
  /** One for each currency. */
  readonly prices: readonly Money[]
  readonly event: PurchaseEvent
  /** Why it cannot be bought now; null where it can. */
  readonly refusal: OrderRefusal | null
}

export interface RefundQuote {
  /** The most that can be refunded. */
  readonly max: Money
  /** Credits of a pack that are neither spent nor held; null for a plan. */
  readonly unspentCredits: number | null
  /** The plan ends with the refund. */
  readonly endsPlan: boolean
  /** The provider returns no money: the operator sends it. */
  readonly isByHand: boolean
}

export interface RefundRequest {
  /** Minor units; by default the most that can be refunded. */
  readonly amount?: number
  readonly reason: string
}

/**
 * `spent`: credits were spent while the refund was being made. `over_daily_limit`: more than the operator's key may move today. With `byHand`
 * the operator has to send the money.
 */
export type RefundAnswer =
  | { readonly kind: 'done' | 'started'; readonly order: Order; readonly byHand: boolean }
  | { readonly kind: 'failed'; readonly order: Order }
  | { readonly kind: 'refused'; readonly reason: RefundRefusal }

export type RefundRefusal = 'unknown' | 'not_paid' | 'too_much' | 'nothing_left' | 'running' | 'spent' | 'over_daily_limit'

export interface OrderExplanation {
  readonly order: Order
  readonly steps: readonly OrderStep[]
  /** The most important one first; none: nothing is missing. */
  readonly findings: readonly OrderFinding[]
}

export interface OrderFinding {
  readonly code: OrderFindingCode
  /** What is missing and what cures it, in the operator's words. */
  readonly operator: string
  /** The setting that cures it. */
  readonly setting: string | null
  /** What the member's words need. */
  readonly facts: Readonly<Record<string, string | number>>
}

export type OrderFindingCode =
  | 'not_opened'
  | 'not_paid'
  | 'waiting_for_operator'
  | 'no_notification'
  | 'notification_refused'
  | 'provider_unavailable'
  | 'misconfigured'
  | 'amount'
  | 'currency'
  | 'payment_of_another_order'
  | 'account_deleted'
  | 'never_begins'
  | 'credit_used'
  | 'paid_twice'
  | 'not_delivered'
  | 'refunding'
  | 'disputed'
  | 'expired'
  | 'cancelled'
