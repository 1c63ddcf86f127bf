/** The public plan catalog. Price points of one name are one plan, listed with the product ids of the first. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import { listPlans } from '../../../api/membership/plans.ts'
import type { GatewayConfig } from '../../../config/config.ts'
import { planIncludes } from '../../../domain/billing/catalog/plan.ts'
import type { Plan } from '../../../domain/billing/catalog/plan.ts'
import { estimatePoolMessages, typicalMessage } from '../../../config/message-estimate.ts'
import { isServed } from '../../../config/products.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeEndpoint } from '../../endpoint-handler.ts'
import { toPrice } from '../models/models.ts'

export function mountPlanRoutes(serve: ServeEndpoint, { config, orders }: Pick<Services, 'config' | 'orders'>): void {
  const catalog = toCatalog(config)
  serve(listPlans, async ({ ctx }) => {
    ctx.set('cache-control', 'public, max-age=60')
    return orders === null ? catalog : { ...catalog, is_sold: true }
  })
}

type Catalog = ResponseOf<typeof listPlans>

function toCatalog(config: GatewayConfig): Catalog {
  const servedProducts = Object.entries(config.products).filter(([id]) => isServed(config, id))
  const ids = servedProducts.map(([id]) => id)
  const groups = Map.groupBy(Object.values(config.plans), ({ name }) => name)
  return {
    object: 'list',
    /** The prefix of the service's names, for programs that need it: headers, keys, the CLI client. */
    brand: { slug: config.brand.slug, name: config.brand.name },
    data: [...groups.values()].flatMap((points) => toPlan(points, ids, config)),
    is_sold: false,
    packs: config.packs.map(({ id, credits, pool, days, prices }) => ({ id, credits, pool, days, prices })),
    pricing: servedProducts.map(([id, { name, tier }]) => ({ id, name, tier, ...toPrice(config, tier) })),
    discounts: { light: config.prices.light.discountPercent, flagship: config.prices.flagship.discountPercent, unit: 'percent' },
    message: { input_tokens: typicalMessage.inputTokens, output_tokens: typicalMessage.outputTokens },
    credit: { currency: 'USD', per: 1_000_000 },
  }
}

function toPlan(points: readonly Plan[], served: readonly string[], config: GatewayConfig): Catalog['data'] {
  const [first] = points
  if (first === undefined) return []
  const all = { ...toPoint(first, served, config), prices: points.flatMap(({ prices }) => prices) }
  // The contents of each price point, where a plan has more than one.
  return [points.length > 1 ? { ...all, options: points.map((point) => toPoint(point, served, config)) } : all]
}

function toPoint(plan: Plan, served: readonly string[], config: GatewayConfig): Omit<Catalog['data'][number], 'options'> {
  const { id, name, rpm, concurrency, pools, prices } = plan
  const messages = {
    fast: estimatePoolMessages(config, pools.fast, 'fast'),
    premium: estimatePoolMessages(config, pools.premium, 'premium'),
  }
  const models = served.filter((product) => planIncludes(plan, product))
  return { id, name, rpm, concurrency, pools, messages, models, prices }
}
