/** A subscription: a plan of an account for a span of time, with the terms that it was paid for, redeemed or given with. */
import type { PlanTerms, TermsInUse } from './terms.ts'
import type { Plan } from '../catalog/plan.ts'

export const subscriptionStates = ['waiting', 'active', 'past_due', 'cancelled', 'ended'] as const
/**
 * `waiting`: begins when a higher or an earlier one has ended. `past_due`: runs, but its last payment failed. `cancelled`: runs until its
 * end and is not renewed. `ended`: final.
 */
export type SubscriptionState = (typeof subscriptionStates)[number]

export const subscriptionSources = ['given', 'code', 'order', 'group'] as const
/** Where it came from: the operator gave it, a code was redeemed, an order was paid, a group of a sign-in provider gives it. */
export type SubscriptionSource = (typeof subscriptionSources)[number]

/** `none`: it ends; `manual`: the member pays again; `provider`: the payment provider charges again. */
export type Renewal = 'none' | 'manual' | 'provider'

export interface Subscription {
  /** `sub_` + 26 characters, time-sortable. */
  readonly id: string
  readonly account: string
  readonly terms: PlanTerms
  readonly source: SubscriptionSource
  /** The sign-in provider whose groups give it; null where none does. */
  readonly provider: string | null
  /** The order that paid for it; null where none did. */
  readonly order: string | null
  readonly renewal: Renewal
  /** The terms of its next span, where the operator has moved it there at renewal. */
  readonly nextTerms: string | null
  readonly state: SubscriptionState
  /** What is left of it while it waits, as `formatSpan` writes it; null where its end is fixed. */
  readonly span: string | null
  /** When it first began; null before. */
  readonly startsAt: number | null
  /** While it runs, and where its end is fixed; null while a span waits. */
  readonly endsAt: number | null
  readonly createdAt: number
  readonly endedAt: number | null
}

/** A new one, which waits until the queue of the account is arranged. */
export function createSubscription(
  own: Pick<Subscription, 'id' | 'account' | 'terms' | 'source' | 'createdAt'> & Partial<Subscription>,
): Subscription {
  return {
    provider: null,
    order: null,
    renewal: 'none',
    nextTerms: null,
    state: 'waiting',
    span: null,
    startsAt: null,
    endsAt: null,
    endedAt: null,
    ...own,
  }
}

/** Whether its plan applies now. */
export function isRunning({ state }: Pick<Subscription, 'state'>): boolean {
  return state === 'active' || state === 'past_due' || state === 'cancelled'
}

/** What an account has, read in the transaction that changes it. */
export interface Entitlement {
  readonly account: string
  readonly isDeleted: boolean
  /** The plan in effect, and its end. */
  readonly plan: string
  readonly planUntil: number | null
  /** The terms in effect; null where the configuration decides. */
  readonly terms: string | null
  /** The plan given without an end, which applies where no subscription is higher; null: the default plan. */
  readonly basePlan: string | null
  /** Those that have not ended, oldest first. */
  readonly subscriptions: readonly Subscription[]
}

/** What a change leaves: the plan in effect, and each subscription that is new or different. */
export interface EntitlementChange {
  readonly plan: string
  readonly planUntil: number | null
  readonly terms: string | null
  readonly basePlan: string | null
  readonly changed: readonly Subscription[]
}

export interface Subscriptions {
  /** The newest terms of a plan if they are equal to it; otherwise makes the next version. */
  ensureTerms(plan: Plan, at: number): Promise<PlanTerms>
  findTerms(id: string): Promise<PlanTerms | undefined>
  /** The newest terms of a plan. */
  findNewestTerms(plan: string): Promise<PlanTerms | undefined>
  /** By plan, oldest first. */
  listTerms(): Promise<readonly TermsInUse[]>
  /** All of an account, or only those that have not ended; oldest first. */
  list(account: string, filter?: { readonly includeEnded: boolean }): Promise<readonly Subscription[]>
  find(id: string): Promise<Subscription | undefined>
  /** Undefined if there is no such account. */
  findEntitlement(account: string): Promise<Entitlement | undefined>
  /** Accounts with a subscription of these terms that has not ended, after this id. */
  listSubscribers(terms: string, page: { readonly after: string; readonly limit: number }): Promise<readonly string[]>
  /**
   * Subscriptions that were bought, by id: those that run and end before a moment, that are to get other terms or whose payment failed, and
   * those that have ended since a moment.
   */
  listPurchased(page: {
    readonly endsBefore: number
    readonly endedSince: number
    readonly after: string
    readonly limit: number
  }): Promise<readonly Subscription[]>
  /** Accounts with a subscription whose end has come. */
  listDue(now: number, limit: number): Promise<readonly string[]>
  /**
   * Accounts whose plan was given with an end by a version without terms: those of these plans. The next `change` of each makes a subscription
   * of it.
   */
  listWithoutTerms(
    plans: readonly string[],
    limit: number,
  ): Promise<readonly { readonly account: string; readonly plan: string }[]>
  /**
   * Decides about one account in one transaction; undefined if there is no such account. `decide` may run again after a conflict. A null
   * decision changes nothing.
   */
  change(
    account: string,
    decide: (entitlement: Entitlement) => EntitlementChange | null,
  ): Promise<{ readonly before: Entitlement; readonly change: EntitlementChange | null } | undefined>
}
