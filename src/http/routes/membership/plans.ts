/** The public catalogue. Price points of one name are one plan, with its largest entry's ids beside. */
import type { AnswerOf } from '../../../api/endpoint.ts'
import { listPlans } from '../../../api/membership/plans.ts'
import type { GatewayConfig } from '../../../config/config.ts'
import { planHas } from '../../../membership/plan.ts'
import type { Plan } from '../../../membership/plan.ts'
import { isServed } from '../../../config/products.ts'
import type { Services } from '../../../gateway/services.ts'
import type { Serve } from '../../serve.ts'
import { toPrice } from '../price.ts'

export function planRoutes(serve: Serve, { config }: Services): void {
  const catalogue = toCatalogue(config)
  serve(listPlans, async ({ ctx }) => {
    ctx.set('cache-control', 'public, max-age=60')
    return catalogue
  })
}

type Catalogue = AnswerOf<typeof listPlans>

function toCatalogue(config: GatewayConfig): Catalogue {
  const sold = Object.entries(config.products).filter(([id]) => isServed(config, id))
  const ids = sold.map(([id]) => id)
  const groups = Map.groupBy(Object.values(config.plans), ({ name }) => name)
  return {
    object: 'list',
    /** What names of the service begin with, for programs that must know them: headers, keys, its own client. */
    brand: { slug: config.brand.slug, name: config.brand.name },
    data: [...groups.values()].flatMap((points) => toPlan(points, ids)),
    pricing: sold.map(([id, { name, tier }]) => ({ id, name, tier, ...toPrice(config, tier) })),
    discounts: { light: config.prices.light.discountPercent, flagship: config.prices.flagship.discountPercent, unit: 'percent' },
    credit: { currency: 'USD', per: 1_000_000 },
  }
}

function toPlan(points: readonly Plan[], sold: readonly string[]): Catalogue['data'] {
  const [first] = points
  if (first === undefined) return []
  const all = { ...toPoint(first, sold), prices: points.flatMap(({ prices }) => prices) }
  // What each price point includes, where a plan has more than one.
  return [points.length > 1 ? { ...all, options: points.map((point) => toPoint(point, sold)) } : all]
}

function toPoint(plan: Plan, sold: readonly string[]): Omit<Catalogue['data'][number], 'options'> {
  const { id, name, rpm, concurrency, pools, prices } = plan
  return { id, name, rpm, concurrency, pools, models: sold.filter((product) => planHas(plan, product)), prices }
}
