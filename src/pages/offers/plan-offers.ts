/** Plans and prices as the pages show them, from the configuration alone. */
import type { GatewayConfig } from '../../config/config.ts'
import { estimatePoolMessages } from '../../config/message-estimate.ts'
import type { Plan, Window } from '../../domain/billing/catalog/plan.ts'
import { planIncludes } from '../../domain/billing/catalog/plan.ts'
import type { Pool } from '../../domain/billing/catalog/product.ts'

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

/** Which of a plan's prices is shown. */
export interface PriceChoice {
  readonly interval: 'month' | 'year'
  readonly currency: string
}

/** What a reader can choose between; the first is shown without a choice. */
export function listPriceChoices({ plans }: Pick<GatewayConfig, 'plans'>): {
  readonly intervals: readonly PriceChoice['interval'][]
  readonly currencies: readonly string[]
} {
  const prices = Object.values(plans)
    .flatMap((plan) => plan.prices)
    .filter(({ amount }) => amount > 0)
  return {
    intervals: (['month', 'year'] as const).filter((each) => prices.some(({ interval }) => interval === each)),
    currencies: [...new Set(prices.map(({ currency }) => currency))],
  }
}

/** The price that is nearest to the choice. What costs nothing costs nothing in every currency. */
export function choosePrice(prices: Plan['prices'], choice: PriceChoice): Plan['prices'] {
  const matches = (price: Plan['prices'][number]): number =>
    (price.currency === choice.currency ? 2 : 0) + (price.interval === choice.interval ? 1 : 0)
  const [best] = prices.toSorted((one, other) => matches(other) - matches(one))
  if (best === undefined) return []
  return [best.amount === 0 ? { ...best, ...choice } : best]
}

/** In the configuration's order; entries of one name are price points of one plan. Without a choice each price is one. */
export function listOfferedPlans(config: GatewayConfig, choice?: PriceChoice): OfferedPlan[] {
  const byName = new Map<string, Offer[]>()
  for (const plan of Object.values(config.plans)) {
    const models = Object.keys(config.products).filter((product) => planIncludes(plan, product)).length
    const messages = {
      fast: estimatePoolMessages(config, plan.pools.fast, 'fast'),
      premium: estimatePoolMessages(config, plan.pools.premium, 'premium'),
    }
    const prices = choice === undefined ? plan.prices : choosePrice(plan.prices, choice)
    const offers = prices.map((price) => ({ plan, price, models, messages }))
    byName.set(plan.name, [...(byName.get(plan.name) ?? []), ...offers])
  }
  return [...byName].map(([name, offers]) => ({ name, offers }))
}

/** The first plan that costs something. */
export function findRecommended(plans: readonly OfferedPlan[]): OfferedPlan | undefined {
  return plans.find(({ offers }) => (offers[0]?.price.amount ?? 0) > 0)
}
