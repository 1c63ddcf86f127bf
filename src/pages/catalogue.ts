/** Plans and prices as the pages show them, from the configuration alone. */
import type { GatewayConfig } from '../config/config.ts'
import { planHas } from '../membership/plan.ts'
import { poolOf } from '../membership/product.ts'
import type { Pool } from '../membership/product.ts'
import { effectivePrice } from '../config/products.ts'

type PlanConfig = GatewayConfig['plans'][string]

/** A plan by its name, with one offer for each of its price points. */
export interface OfferedPlan {
  readonly name: string
  readonly offers: readonly Offer[]
}

export interface Offer {
  readonly id: string
  readonly plan: PlanConfig
  readonly price: PlanConfig['prices'][number]
  readonly models: number
}

/** In the configuration's order; entries of one name are price points of one plan. */
export function offeredPlans(config: GatewayConfig): OfferedPlan[] {
  const byName = new Map<string, Offer[]>()
  for (const [id, plan] of Object.entries(config.plans)) {
    const models = Object.keys(config.products).filter((product) => planHas(plan, product)).length
    const offers = plan.prices.map((price) => ({ id, plan, price, models }))
    byName.set(plan.name, [...(byName.get(plan.name) ?? []), ...offers])
  }
  return [...byName].map(([name, offers]) => ({ name, offers }))
}

/** About how many tokens a pool's credits buy, three read for one written; null where they cost nothing. */
export function tokensFor(credits: number, pool: Pool, config: GatewayConfig): number | null {
  const tier = poolOf.light === pool ? 'light' : 'flagship'
  const { effectiveInput, effectiveOutput } = effectivePrice(config, tier)
  // A credit is a millionth of a dollar and prices are dollars a million tokens, so the millions cancel out.
  const perToken = (3 * effectiveInput + effectiveOutput) / 4
  return perToken > 0 ? credits / perToken : null
}
