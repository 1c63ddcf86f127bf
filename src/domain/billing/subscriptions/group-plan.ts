/** The plan that groups of a sign-in provider give: one subscription for each provider, which lapses unless a sign-in moves its end. */
import { createSubscription } from './subscription.ts'
import type { Subscription } from './subscription.ts'
import type { PlanTerms } from './terms.ts'

/** How long after its member's last sign-in with the provider such a plan ends. */
export const groupPlanMs = 12 * 3_600_000

/**
 * The subscriptions of an account after a sign-in with a provider. Null terms: its groups give no plan, and what they gave before ends now.
 * What was bought, redeemed or given, and what groups of other providers give, is never touched. Returns the same list if nothing changes.
 */
export function applyGroupTerms(
  subscriptions: readonly Subscription[],
  { id, account, provider, terms, now }: GroupGrant,
): readonly Subscription[] {
  const groupSubscriptions = subscriptions.filter(
    (each) => each.source === 'group' && each.provider === provider && each.state !== 'ended',
  )
  if (terms === null && groupSubscriptions.length === 0) return subscriptions
  const continuedSubscription = groupSubscriptions.find((each) => each.terms.plan.id === terms?.plan.id)
  const endsAt = now + groupPlanMs
  const changedSubscriptions = subscriptions.map((each): Subscription => {
    if (!groupSubscriptions.includes(each)) return each
    return each === continuedSubscription && terms !== null
      ? { ...each, terms, endsAt }
      : { ...each, state: 'ended', endedAt: now }
  })
  if (terms === null || continuedSubscription !== undefined) return changedSubscriptions
  return [...changedSubscriptions, createSubscription({ id, account, terms, source: 'group', provider, endsAt, createdAt: now })]
}

interface GroupGrant {
  /** Of the subscription, if it is a new one. */
  readonly id: string
  readonly account: string
  readonly provider: string
  readonly terms: PlanTerms | null
  readonly now: number
}
