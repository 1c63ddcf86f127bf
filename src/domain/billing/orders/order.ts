/**
 * An order: one purchase of an account, with its story. Rows of the story are never changed. Money of the provider is seen (`paid`) before
 * anything is granted, and one payment of a provider belongs to one order.
 */
import type { BoostClaim } from '../boost.ts'
import type { Mismatch } from '../ledger.ts'
import type { Money } from '../money.ts'
import type { Interval, PaymentProviderError } from './payment-provider.ts'
import type { Pool } from '../catalog/product.ts'
import type { PurchaseNotice } from './purchase-notice.ts'
import type { Entitlement, EntitlementChange } from '../subscriptions/subscription.ts'
import type { PlanTerms } from '../subscriptions/terms.ts'

export const orderStates = [
  'created',
  'sent',
  'paid',
  'granted',
  'refunding',
  'refunded',
  'disputed',
  'expired',
  'cancelled',
] as const
/**
 * `created`: stored here only. `sent`: the provider has it, and the member can pay. `paid`: the money was seen, and nothing is granted yet.
 * `granted`: the member has what was bought. `refunding`: the provider is returning money. `refunded`: it has. `disputed`: the member's bank
 * demands the money back. `expired`: was not paid in time. `cancelled`: before it was paid.
 */
export type OrderState = (typeof orderStates)[number]

/** The fields of an order that has a payment to come, and has given nothing. */
export const unpaidOrder = {
  payment: null,
  url: null,
  instructions: null,
  problem: null,
  paid: null,
  refunded: 0,
  refund: null,
  subscription: null,
  pack: null,
  paidAt: null,
  grantedAt: null,
  closedAt: null,
  checks: 0,
  notifiedAt: null,
  failure: null,
} as const satisfies Partial<Order>

/** Whether a part of the money that arrived went back, and the rest is here. */
export function isRefundedInPart({ state, refunded, paid }: Pick<Order, 'state' | 'refunded' | 'paid'>): boolean {
  return state === 'refunded' && paid !== null && refunded < paid.amount
}

/** What the purchase does, by the table of rules in docs/selling.md. */
export type PurchaseEvent = 'first' | 'renewal' | 'upgrade' | 'downgrade' | 'interval' | 'pack'

export type OrderItem =
  | { readonly kind: 'plan'; readonly terms: PlanTerms; readonly interval: Interval }
  | {
      readonly kind: 'pack'
      /** Its id in the configuration. */
      readonly pack: string
      readonly pool: Pool
      readonly credits: number
      /** Null: the credits have no end. */
      readonly days: number | null
    }

/**
 * Why money that was seen grants nothing. `amount`: less than is due; `currency`: another one; `payment_of_another_order`; `account_deleted`;
 * `never_begins`: the account has got a plan without an end that is as high; `credit_used`: the unused days that were taken off the
 * price no longer count.
 */
export type OrderProblem = 'amount' | 'currency' | 'payment_of_another_order' | 'account_deleted' | 'never_begins' | 'credit_used'

export interface Order {
  /** `ord_` + 26 characters, time-sortable. */
  readonly id: string
  /** For receipts and transfers: `2026-000123`. */
  readonly number: string
  readonly account: string
  /** The client's id of the request: repeated, it is the same order. */
  readonly requestId: string
  readonly item: OrderItem
  readonly event: PurchaseEvent
  readonly price: Money
  /** Unused days of `formerSubscription`, taken off the price at an upgrade; minor units. */
  readonly credit: number
  /** The subscription that an upgrade ends, or that the provider's renewal or change continues. */
  readonly formerSubscription: string | null
  /** `price` less `credit`. */
  readonly due: Money
  readonly provider: string
  readonly language: 'en' | 'zh'
  /** The provider's id of the payment; null before it has one. */
  readonly reference: string | null
  /** The provider's id of the money; null before it was seen. */
  readonly payment: string | null
  /** The provider's subscription, where it charges renewals. */
  readonly providerSubscription: string | null
  /** Whether the provider charges again at the end of the span. */
  readonly renews: boolean
  /** Where the member pays. */
  readonly url: string | null
  /** How the member pays, where there is no address. */
  readonly instructions: string | null
  readonly state: OrderState
  readonly problem: OrderProblem | null
  /** What was really paid, with tax. */
  readonly paid: Money | null
  /** Minor units of `paid`. */
  readonly refunded: number
  readonly refund: OrderRefund | null
  /** What was granted: a subscription or a pack. */
  readonly subscription: string | null
  readonly pack: string | null
  readonly createdAt: number
  /** When it can no longer be paid. */
  readonly expiresAt: number
  readonly sentAt: number | null
  readonly paidAt: number | null
  readonly grantedAt: number | null
  /** When it was refunded, expired or cancelled. */
  readonly closedAt: number | null
  /** When the provider is asked next; null: no more. */
  readonly nextCheckAt: number | null
  readonly checks: number
  /** When the provider last answered. */
  readonly checkedAt: number | null
  /** When its last notification about this order arrived. */
  readonly notifiedAt: number | null
  /** Why the provider's last answer was none; null since it answered. */
  readonly failure: OrderFailure | null
  /** Name and address of the buyer on the receipt, in lines; none: the account's address stands there. */
  readonly buyer: readonly string[]
  /** Grows with each change, so that of two changes at the same time one is repeated. */
  readonly version: number
}

/** The provider did not do what was asked; the message is for the operator. */
export interface OrderFailure {
  readonly reason: PaymentProviderError['reason']
  readonly message: string
  /** The setting that cures it. */
  readonly setting: string | null
}

/** The refund that runs or was the last one, or the dispute. */
export interface OrderRefund {
  /** `ref_` + 26 characters: the idempotency key at the provider. */
  readonly id: string
  readonly amount: number
  /** Credits of the pack that are locked while it runs. */
  readonly lockedCredits: number
  readonly reason: string
}

export const orderStepKinds = [
  'created',
  'sent',
  'provider_failed',
  'notified',
  'checked',
  'paid',
  'payment_corrected',
  'paid_again',
  'not_granted',
  'granted',
  'refund_started',
  'refunded',
  'refund_failed',
  'refunded_at_provider',
  'disputed',
  'dispute_won',
  'dispute_lost',
  'renewal_cancelled',
  'expired',
  'cancelled',
] as const
export type OrderStepKind = (typeof orderStepKinds)[number]

/** One row of an order's story; never changed. */
export interface OrderStep {
  readonly at: number
  readonly kind: OrderStepKind
  /** `member`, `operator`, `notification`, `sweep` or `return`. */
  readonly by: OrderActor
  readonly facts: Readonly<Record<string, string | number | boolean>>
}

export type OrderActor = 'member' | 'operator' | 'notification' | 'return' | 'sweep'

/** Lines of a buyer's name and address. */
export const maxBuyerLines = 4
export const maxBuyerLineChars = 100

export type OrderDraft = Omit<Order, 'number' | 'version'>

export interface OrderFilter {
  readonly account?: string
  readonly states?: readonly OrderState[]
  readonly provider?: string
  /** Paid, or returned in part or whole, from then on and before then. */
  readonly paid?: { readonly from: number; readonly to: number }
  readonly returned?: { readonly from: number; readonly to: number }
  /** Of this plan; null: of a pack. */
  readonly plan?: string | null
  /** Orders older than this one: the next page. Newest first. */
  readonly before?: string
  readonly limit: number
}

/** Begins the id of each pack that was bought, so that the ledger tells it from others without a column of its own. */
export const purchasedPackPrefix = 'pack_ord_'

/** The same order is the same pack. */
export function toPurchasedPackId(order: string): string {
  return `${purchasedPackPrefix}${order.slice('ord_'.length)}`
}

export function isPurchasedPack({ id }: { readonly id: string }): boolean {
  return id.startsWith(purchasedPackPrefix)
}

/** The end of a pack without an end: the last day of the year 9999. */
export const noEndAt = 253_402_214_400_000

/** What a change of an order writes: the order, rows of its story and, where it grants or takes, the account's subscriptions or a claim. */
export interface OrderChange {
  readonly order: Order
  readonly steps: readonly OrderStep[]
  readonly entitlement?: EntitlementChange
  readonly claim?: BoostClaim
  /** Emails to send. */
  readonly notices?: readonly PurchaseNotice[]
}

/** Orders whose money was seen and that are not granted. */
export interface UngrantedOrders {
  readonly count: number
  /** When the oldest of them was paid. */
  readonly oldestPaidAt: number | null
}

/** What is known about notifications of one provider. */
export interface NotificationRecord {
  readonly provider: string
  readonly acceptedAt: number | null
  readonly refusedAt: number | null
  readonly refusal: string | null
  /** The setting that cures it. */
  readonly setting: string | null
}

export interface Orders {
  /**
   * Stores an order with its number of that year; the stored one where the account has made this request before. Null where the account has
   * `maxOpen` orders that are not paid yet.
   */
  create(
    draft: OrderDraft,
    steps: readonly OrderStep[],
    rules: { readonly maxOpen: number; readonly year: number },
  ): Promise<{ readonly order: Order; readonly isNew: boolean } | null>
  find(id: string): Promise<Order | undefined>
  findByNumber(number: string): Promise<Order | undefined>
  findByRequest(account: string, requestId: string): Promise<Order | undefined>
  findByReference(provider: string, reference: string): Promise<Order | undefined>
  findByPayment(provider: string, payment: string): Promise<Order | undefined>
  /** The first order of a provider's subscription. */
  findByProviderSubscription(provider: string, reference: string): Promise<Order | undefined>
  findBySubscription(subscription: string): Promise<Order | undefined>
  list(filter: OrderFilter): Promise<readonly Order[]>
  listSteps(order: string): Promise<readonly OrderStep[]>
  /**
   * Orders about which the provider is to be asked, the most overdue first. A time more than `maxPauseMs` ahead was computed while the clock
   * was wrong, and has come too.
   */
  listDue(now: number, limit: number, maxPauseMs: number): Promise<readonly Order[]>
  countUngranted(): Promise<UngrantedOrders>
  /** Orders for which a second payment was seen since, the newest first. */
  listPaidTwice(since: number, limit: number): Promise<readonly Order[]>
  /**
   * What is paid is granted once, and what is granted was paid: each violation.
   * @throws if `signal` aborts it, before the next rule
   */
  verify(signal?: AbortSignal): Promise<readonly Mismatch[]>
  /**
   * Changes one order in one transaction with what it grants or takes. `decide` may run again after a conflict; null changes nothing. Where the
   * order's payment or reference at the provider belongs to another order, nothing is changed and that is returned.
   */
  change(
    id: string,
    decide: (order: Order, entitlement: Entitlement | undefined) => OrderChange | null,
  ): Promise<
    { readonly order: Order; readonly isChanged: boolean } | 'payment_of_another_order' | 'reference_of_another_order' | undefined
  >
  recordNotification(provider: string, record: Omit<NotificationRecord, 'provider'>): Promise<void>
  listNotificationRecords(): Promise<readonly NotificationRecord[]>
}
