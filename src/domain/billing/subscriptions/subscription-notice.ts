/** Which email a member gets about a plan that was bought: its renewal, new terms, a payment that failed, its end. */
import type { Subscription } from './subscription.ts'

export type SubscriptionNoticeKind = 'renewal' | 'terms' | 'payment_failed' | 'ended'

export interface SubscriptionNotice {
  readonly kind: SubscriptionNoticeKind
  /** What is announced: the terms, or the end that it is about. Each is announced once. */
  readonly subject: string
}

const dayMs = 86_400_000
/** Enough to change a card or to buy again. */
export const renewalNoticeMs = 7 * dayMs
/** New terms that give less or cost more apply only if they were announced this long before. */
export const termsNoticeMs = 30 * dayMs
/** An end that is older is no news: the server was switched off, or the subscription is from before. */
export const endNoticeMs = 2 * dayMs

/** @param others all other subscriptions of the account that have not ended */
export function chooseNotices(
  { terms, renewal, nextTerms, state, endsAt, endedAt }: Subscription,
  others: readonly Subscription[],
  now: number,
): readonly SubscriptionNotice[] {
  if (endsAt === null) return []
  const goesOn = others.some((each) => each.terms.plan.id === terms.plan.id)
  const end = String(endsAt)
  if (state === 'ended') {
    const isOver = endedAt !== null && endedAt >= endsAt && now - endedAt <= endNoticeMs
    return isOver && !goesOn ? [{ kind: 'ended', subject: end }] : []
  }
  if (state === 'past_due') return [{ kind: 'payment_failed', subject: end }]
  if (state !== 'active') return []
  const hasNewTerms = renewal === 'provider' && nextTerms !== null && nextTerms !== terms.id
  const renewsSoon = renewal !== 'none' && endsAt > now && endsAt - now <= renewalNoticeMs
  return [
    ...(hasNewTerms ? [{ kind: 'terms', subject: nextTerms } as const] : []),
    // A plan that was bought for the time afterwards has been renewed.
    ...(renewsSoon && !(renewal === 'manual' && goesOn) ? [{ kind: 'renewal', subject: end } as const] : []),
  ]
}
