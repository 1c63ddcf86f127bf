/** The tables of what is sold: terms of plans and subscriptions, as Kysely types. Instants are milliseconds, amounts whole credits. */
import type { Pool } from '../../domain/billing/product.ts'
import type { Renewal, SubscriptionSource, SubscriptionState } from '../../domain/billing/subscription.ts'

export interface SaleSchema {
  readonly plan_terms: PlanTermsTable
  readonly subscription: SubscriptionTable
  readonly redeem_code: RedeemCodeTable
  readonly redemption: RedemptionTable
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
