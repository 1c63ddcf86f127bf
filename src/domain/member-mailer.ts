/** The port for emails to members. The mailer renders and delivers them. */
import type { Window } from './billing/catalog/plan.ts'
import type { Money } from './billing/money.ts'
import type { Order } from './billing/orders/order.ts'
import type { Interval } from './billing/orders/payment-provider.ts'
import type { Pool } from './billing/catalog/product.ts'
import type { PlanTerms } from './billing/subscriptions/terms.ts'
import type { AlertLevel } from './billing/usage/usage-alert.ts'
import type { Reader } from './identity/reader.ts'
import type { EmailVerificationSecrets } from './services/sign-in/email-verification-service.ts'

/**
 * The state of the queue when a code was queued, the same for every address. `new_addresses_paused`: emails to addresses without an account
 * have no room, members' have. `unavailable`: no code can be queued. `delayed`: it is queued, and the mail server cannot be reached at present.
 */
export type EmailOutcome = 'queued' | 'delayed' | 'new_addresses_paused' | 'unavailable'

/**
 * `unavailable`: nothing was delivered, and a later attempt may succeed. `rejected`: the mail server refused this email for good.
 * `unknown`: the connection ended before the answer, so the email may have been delivered.
 */
export type DeliveryOutcome = 'sent' | 'unavailable' | 'rejected' | 'unknown'

/** What an email about a window's usage states. */
export interface UsageAlertFacts {
  readonly pool: Pool
  readonly window: Window
  readonly level: AlertLevel
  readonly used: number
  readonly limit: number
  readonly resetsAt: number
  /** Credits of the pool in boost packs, which are spent next. */
  readonly inPacks: number
  /** Credits of the largest boost of this pool that the member can take now; 0 if there is none. */
  readonly availableBoost: number
  /** Whether the other pool has room in all windows. */
  readonly otherPoolHasRoom: boolean
  /** Whether another plan includes more in this window. */
  readonly canUpgrade: boolean
  /** Switches these emails off without a sign-in. */
  readonly unsubscribeToken: string
}

/** What an email about a purchase states. */
export type PurchaseEmail =
  | { readonly kind: 'receipt' | 'refunded'; readonly order: Order }
  /** `renews`: the payment provider charges `price` at `endsAt`. The token cancels that without a sign-in; null where nothing is charged. */
  | (PlanEnd & { readonly kind: 'renewal'; readonly renews: boolean; readonly price: Money; readonly cancelToken: string | null })
  /** From `endsAt` on the plan has other terms, at `newPrice`. */
  | (PlanEnd & {
      readonly kind: 'terms'
      readonly from: PlanTerms
      readonly to: PlanTerms
      readonly interval: Interval
      readonly price: Money
      readonly newPrice: Money
      readonly cancelToken: string
    })
  | (PlanEnd & { readonly kind: 'payment_failed' })
  /** `next`: the plan that applies now. */
  | (PlanEnd & { readonly kind: 'ended'; readonly next: string })

interface PlanEnd {
  /** The plan's name. */
  readonly plan: string
  readonly planId: string
  readonly endsAt: number
}

/** A member's address, and how the member reads. */
export interface MemberRecipient {
  readonly to: string
  readonly reader: Reader
}

/**
 * Except for `deliver…`, each method resolves when the email is queued and never rejects: neither the time nor the success of sending may reveal anything to a
 * stranger. Notices may be dropped when the queue is full.
 */
export interface MemberMailer {
  /** `to` is null if no email is sent, which takes the same time. */
  sendSignInCode(
    recipient: { readonly to: string | null; readonly isMember: boolean; readonly reader: Reader },
    secrets: EmailVerificationSecrets,
  ): Promise<EmailOutcome>
  /** The code that confirms a change; null if it was guessed too often in the last hour. */
  sendReauthenticationCode(recipient: MemberRecipient, code: string | null): Promise<EmailOutcome>
  sendDeviceSignedIn(
    recipient: MemberRecipient,
    device: { readonly client: string; readonly hostname: string | null; readonly at: number },
  ): Promise<void>
  sendPasswordChanged(recipient: MemberRecipient, at: number): Promise<void>
  /** The last email to an address that the service then no longer has. */
  sendAccountDeleted(recipient: MemberRecipient, at: number): Promise<void>
  /** The deletion waits until the payment provider has ended a renewal. */
  sendAccountDeletionWaits(recipient: MemberRecipient): Promise<void>
  /** The code that proves a new address. `to` is null if no email is sent, which takes the same time. */
  sendEmailChangeCode(recipient: { readonly to: string | null; readonly reader: Reader }, code: string): Promise<EmailOutcome>
  /** Tells the old address that the account has another one, which is masked. */
  sendEmailChanged(recipient: MemberRecipient, change: { readonly newAddress: string; readonly at: number }): Promise<void>
  /** Sends the email once, now, and waits for the mail server, because the caller decides about another attempt. Never rejects. */
  deliverUsageAlert(recipient: MemberRecipient, alert: UsageAlertFacts, signal: AbortSignal): Promise<DeliveryOutcome>
  /** The same for an email about a purchase. */
  deliverPurchaseEmail(recipient: MemberRecipient, email: PurchaseEmail, signal: AbortSignal): Promise<DeliveryOutcome>
}
