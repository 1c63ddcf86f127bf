/**
 * What a reader can do about a plan. All plan buttons of the site come from this function: they lead to the checkout where plans are sold,
 * and else to the operator.
 */
import type { GatewayConfig } from '../../config/config.ts'
import type { PurchaseEvent } from '../../domain/billing/orders/order.ts'
import type { Plan } from '../../domain/billing/catalog/plan.ts'
import { includesPlan, resolvePlan } from '../../domain/billing/subscriptions/terms.ts'
import type { Account } from '../../domain/identity/account.ts'
import { buildCheckoutPath } from '../../services/checkout-path.ts'
import type { Offer } from '../../domain/services/orders/order-answers.ts'

export type PlanAction =
  /** Creates an account, which has this plan. */
  | { readonly kind: 'start'; readonly href: string }
  /** Signs in first and then leads back to this plan. */
  | { readonly kind: 'choose'; readonly href: string }
  | { readonly kind: 'current'; readonly until: number | null }
  /** The member's own plan has at least as much of everything. */
  | { readonly kind: 'included' }
  /** Leads to the checkout. */
  | { readonly kind: 'buy'; readonly href: string; readonly event: PurchaseEvent; readonly until: number | null }
  /** The operator sets the plan; `href` is null where the operator has named no address. */
  | { readonly kind: 'upgrade' | 'change'; readonly href: string | null }

/** What is sold to this reader, and the price that is shown. */
export interface PlanSale {
  readonly offers: readonly Offer[]
  readonly price: Plan['prices'][number]
}

export function choosePlanAction(
  plan: Plan,
  viewer: Account | null,
  config: GatewayConfig,
  sale: PlanSale | null = null,
): PlanAction {
  if (viewer === null) {
    if (plan.id === config.defaultPlan) return { kind: 'start', href: '/sign-in' }
    const next = new URLSearchParams({
      plan: plan.id,
      ...(sale === null ? {} : { interval: sale.price.interval, currency: sale.price.currency }),
    })
    return { kind: 'choose', href: `/sign-in?${new URLSearchParams({ next: `/plans?${next}` })}` }
  }
  const viewerPlan = resolvePlan(config, viewer)
  const offer = sale === null ? undefined : findOffer(plan, sale)
  if (sale !== null && offer?.refusal === null) {
    const until = viewerPlan.id === plan.id ? viewer.planUntil : null
    return { kind: 'buy', href: toCheckout(plan, sale.price), event: offer.event, until }
  }
  if (viewerPlan.id === plan.id) return { kind: 'current', until: viewer.planUntil }
  if (includesPlan(viewerPlan, plan)) return { kind: 'included' }
  // Why it cannot be bought now stands at the checkout.
  if (sale !== null && offer !== undefined && offer.refusal !== 'never_begins' && offer.refusal !== 'renews_itself')
    return { kind: includesPlan(plan, viewerPlan) ? 'upgrade' : 'change', href: toCheckout(plan, sale.price) }
  return { kind: includesPlan(plan, viewerPlan) ? 'upgrade' : 'change', href: createOrderLink(plan, viewer, config) }
}

function findOffer({ id }: Plan, { offers, price }: PlanSale): Offer | undefined {
  return offers.find(
    ({ item, prices }) =>
      item.kind === 'plan' &&
      item.plan.id === id &&
      item.interval === price.interval &&
      prices.some(({ currency }) => currency === price.currency),
  )
}

function toCheckout({ id }: Plan, { interval, currency }: PlanSale['price']): string {
  return buildCheckoutPath({ item: { kind: 'plan', plan: id, interval }, currency })
}

function createOrderLink(plan: Plan, viewer: Account, { site, brand }: GatewayConfig): string | null {
  if (site.contactUrl === null || !site.contactUrl.startsWith('mailto:')) return site.contactUrl
  const subject = encodeURIComponent(`${brand.name}: ${plan.name} (${plan.id}), ${viewer.email ?? viewer.id}`)
  return `${site.contactUrl}${site.contactUrl.includes('?') ? '&' : '?'}subject=${subject}`
}
