/** Plans and prices as the pages show them, from the configuration alone. */
import type { GatewayConfig } from '../../config/config.ts'
import { estimatePoolMessages } from '../../config/message-estimate.ts'
import type { Plan, Window } from '../../domain/billing/plan.ts'
import { planIncludes } from '../../domain/billing/plan.ts'
import type { Pool } from '../../domain/billing/product.ts'

/** A plan by its name, with one offer for each of its price points. */
export interface OfferedPlan {
  readonly name: string
  readonly offers: readonly Offer[]
}

export interface Offer {
  readonly plan: Plan
  readonly price: Plan['prices'][number]
  /** Number of products. */
  readonly models: number
  /** Typical messages that a pool's credits pay for; null where messages cost nothing. */
  readonly messages: Readonly<Record<Pool, Readonly<Record<Window, number | null>>>>
}

/** In the configuration's order; entries of one name are price points of one plan. */
export function listOfferedPlans(config: GatewayConfig): OfferedPlan[] {
  const byName = new Map<string, Offer[]>()
  for (const plan of Object.values(config.plans)) {
    const models = Object.keys(config.products).filter((product) => planIncludes(plan, product)).length
    const messages = {
      fast: estimatePoolMessages(config, plan.pools.fast, 'fast'),
      premium: estimatePoolMessages(config, plan.pools.premium, 'premium'),
    }
    const offers = plan.prices.map((price) => ({ plan, price, models, messages }))
    byName.set(plan.name, [...(byName.get(plan.name) ?? []), ...offers])
  }
  return [...byName].map(([name, offers]) => ({ name, offers }))
}

/** The first plan that costs something. */
export function findRecommended(plans: readonly OfferedPlan[]): OfferedPlan | undefined {
  return plans.find(({ offers }) => (offers[0]?.price.amount ?? 0) > 0)
}
