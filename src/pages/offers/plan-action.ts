/**
 * What a reader can do about a plan. All plan buttons of the site come from this function, so that a checkout replaces the link to the
 * operator here and nowhere else.
 */
import type { GatewayConfig } from '../../config/config.ts'
import type { Plan } from '../../domain/billing/plan.ts'
import { getPlan, windows } from '../../domain/billing/plan.ts'
import type { Account } from '../../domain/identity/account.ts'

export type PlanAction =
  /** Creates an account, which has this plan. */
  | { readonly kind: 'start'; readonly href: string }
  /** Signs in first and then leads back to this plan. */
  | { readonly kind: 'choose'; readonly href: string }
  | { readonly kind: 'current'; readonly until: number | null }
  /** The member's own plan has at least as much of everything. */
  | { readonly kind: 'included' }
  /** The operator sets the plan; `href` is null where the operator has named no address. */
  | { readonly kind: 'upgrade' | 'change'; readonly href: string | null }

export function choosePlanAction(plan: Plan, viewer: Account | null, config: GatewayConfig): PlanAction {
  if (viewer === null) {
    if (plan.id === config.defaultPlan) return { kind: 'start', href: '/sign-in' }
    return { kind: 'choose', href: `/sign-in?${new URLSearchParams({ next: `/plans?plan=${plan.id}` })}` }
  }
  const own = getPlan(config, viewer.plan)
  if (own.id === plan.id) return { kind: 'current', until: viewer.planUntil }
  if (isIncluded(plan, own)) return { kind: 'included' }
  return { kind: isIncluded(own, plan) ? 'upgrade' : 'change', href: createOrderLink(plan, viewer, config) }
}

function createOrderLink(plan: Plan, viewer: Account, { site, brand }: GatewayConfig): string | null {
  if (site.contactUrl === null || !site.contactUrl.startsWith('mailto:')) return site.contactUrl
  const subject = encodeURIComponent(`${brand.name}: ${plan.name} (${plan.id}), ${viewer.email ?? viewer.id}`)
  return `${site.contactUrl}${site.contactUrl.includes('?') ? '&' : '?'}subject=${subject}`
}

/** Whether `larger` has at least as much of everything as `smaller`. */
function isIncluded(smaller: Plan, larger: Plan): boolean {
  const hasModels = larger.models === 'all' || (smaller.models !== 'all' && isSubset(smaller.models, larger.models))
  const hasCredits = (['fast', 'premium'] as const).every((pool) =>
    windows.every((window) => smaller.pools[pool][window] <= larger.pools[pool][window]),
  )
  return hasModels && hasCredits && smaller.rpm <= larger.rpm && smaller.concurrency <= larger.concurrency
}

function isSubset(part: readonly string[], whole: readonly string[]): boolean {
  return part.every((id) => whole.includes(id))
}
