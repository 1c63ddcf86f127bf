/** The tables of what is sold: terms of plans and subscriptions, as Kysely types. Instants are milliseconds, amounts whole credits. */
import type { Generated } from 'kysely'
import type { OrderActor, OrderProblem, OrderState, OrderStepKind, PurchaseEvent } from '../../domain/billing/orders/order.ts'
import type { Interval } from '../../domain/billing/orders/payment-provider.ts'
import type { Pool } from '../../domain/billing/catalog/product.ts'
import type { PurchaseNotice } from '../../domain/billing/orders/purchase-notice.ts'
import type { Renewal, SubscriptionSource, SubscriptionState } from '../../domain/billing/subscriptions/subscription.ts'

export interface SaleSchema {
  readonly plan_terms: PlanTermsTable
  readonly subscription: SubscriptionTable
  readonly redeem_code: RedeemCodeTable
  readonly redemption: RedemptionTable
  readonly sale_order: OrderTable
  readonly order_step: OrderStepTable
  readonly order_number: OrderNumberTable
  readonly payment_notification: PaymentNotificationTable
  readonly purchase_notice: PurchaseNoticeTable
}

/** Rows are never changed. */
export interface PlanTermsTable {
  /** `plan@version`. */
  id: string
  plan: string
  version: number
  /** JSON of the plan without its id, as `serializePlan` writes it. */
  content: string
  created_at: number
}

export interface SubscriptionTable {
  id: string
  account: string
  terms: string
  source: SubscriptionSource
  /** The sign-in provider whose groups give it. */
  provider: string | null
  /** The order that paid for it. */
  purchase: string | null
  renewal: Renewal
  next_terms: string | null
  state: SubscriptionState
  /** What is left while it waits; null where its end is fixed. */
  span: string | null
  starts_at: number | null
  ends_at: number | null
  created_at: number
  ended_at: number | null
}

/** A code gives either a plan (`terms`, `span`) or credits (`pool`, `credits`, `days`). */
export interface RedeemCodeTable {
  id: string
  hash: Uint8Array
  /** The first characters of the code. */
  prefix: string
  batch: string | null
  terms: string | null
  span: string | null
  pool: Pool | null
  credits: number | null
  days: number | null
  max_uses: number
  uses: number
  created_at: number
  expires_at: number | null
  revoked_at: number | null
}

/** Rows are never changed. */
interface RedemptionTable {
  id: string
  code: string
  account: string
  at: number
  subscription: string | null
  /** The claim and the pack have this id. */
  pack: string | null
}

/** Amounts of money are minor units. A plan has `terms` and `interval`, a pack `pack_offer`, `pool`, `credits` and perhaps `days`. */
export interface OrderTable {
  id: string
  number: string
  account: string
  /** The client's id of the request. */
  request: string
  kind: 'plan' | 'pack'
  terms: string | null
  interval: Interval | null
  pack_offer: string | null
  pool: Pool | null
  credits: number | null
  days: number | null
  event: PurchaseEvent
  /** Of `price`, `credit` and `due`. */
  currency: string
  price: number
  credit: number
  former_subscription: string | null
  due: number
  provider: string
  language: 'en' | 'zh'
  reference: string | null
  payment: string | null
  provider_subscription: string | null
  renews: number
  url: string | null
  instructions: string | null
  state: OrderState
  problem: OrderProblem | null
  paid_amount: number | null
  paid_currency: string | null
  refunded: number
  /** JSON of an `OrderRefund`. */
  refund: string | null
  subscription: string | null
  /** The claim and the pack have this id. */
  pack: string | null
  created_at: number
  expires_at: number
  sent_at: number | null
  paid_at: number | null
  granted_at: number | null
  closed_at: number | null
  next_check_at: number | null
  checks: number
  checked_at: number | null
  notified_at: number | null
  /** JSON of an `OrderFailure`. */
  failure: string | null
  /** JSON of the lines. */
  buyer: Generated<string | null>
  version: number
}

/** Rows are never changed. */
interface OrderStepTable {
  sale_order: string
  seq: number
  at: number
  kind: OrderStepKind
  actor: OrderActor
  /** JSON of an object. */
  facts: string
}

/** The last number of each year. */
interface OrderNumberTable {
  year: number
  last: number
}

interface PaymentNotificationTable {
  provider: string
  accepted_at: number | null
  refused_at: number | null
  refusal: string | null
  setting: string | null
}

/** The key is `about`, `kind` and `subject`. */
interface PurchaseNoticeTable {
  /** An order or a subscription. */
  about: string
  kind: PurchaseNotice['kind']
  subject: string
  account: string
  created_at: number
  /** Null: ended. */
  due_at: number | null
  attempts: number
  sent_at: number | null
}
