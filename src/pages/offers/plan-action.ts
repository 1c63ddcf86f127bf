/**
 * What a reader can do about a plan. All plan buttons of the site come from this function, so that a checkout replaces the link to the
 * operator here and nowhere else.
 */
import type { GatewayConfig } from '../../config/config.ts'
import type { Plan } from '../../domain/billing/plan.ts'
import { includesPlan, resolvePlan } from '../../domain/billing/terms.ts'
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
  const own = resolvePlan(config, viewer)
  if (own.id === plan.id) return { kind: 'current', until: viewer.planUntil }
  if (includesPlan(own, plan)) return { kind: 'included' }
  return { kind: includesPlan(plan, own) ? 'upgrade' : 'change', href: createOrderLink(plan, viewer, config) }
}

function createOrderLink(plan: Plan, viewer: Account, { site, brand }: GatewayConfig): string | null {
  if (site.contactUrl === null || !site.contactUrl.startsWith('mailto:')) return site.contactUrl
  const subject = encodeURIComponent(`${brand.name}: ${plan.name} (${plan.id}), ${viewer.email ?? viewer.id}`)
  return `${site.contactUrl}${site.contactUrl.includes('?') ? '&' : '?'}subject=${subject}`
}
