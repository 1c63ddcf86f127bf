/** `GET /api/membership/plans`: the public catalogue. Price points of one name are one plan, with its largest entry's ids beside. */
import type { Router } from '@koa/router'
import type { GatewayConfig } from '../../config/config.ts'
import { planHas } from '../../membership/plan.ts'
import { effectivePrice, isServed } from '../../config/products.ts'
import type { House } from '../house.ts'

export function planRoutes(router: Router, { services }: House): void {
  const body = JSON.stringify(planCatalogue(services.config))
  for (const prefix of ['/api/membership', '/api/membership/v1']) {
    router.get(`${prefix}/plans`, (ctx) => {
      ctx.type = 'application/json; charset=utf-8'
      ctx.set('cache-control', 'public, max-age=60')
      ctx.body = body
    })
  }
}

export function planCatalogue(config: GatewayConfig): Record<string, unknown> {
  const groups = new Map<string, { readonly id: string; readonly plan: GatewayConfig['plans'][string] }[]>()
  for (const [id, plan] of Object.entries(config.plans)) groups.set(plan.name, [...(groups.get(plan.name) ?? []), { id, plan }])
  return {
    object: 'list',
    /** What names of the service begin with, for programs that must know them: headers, keys, its own client. */
    brand: { slug: config.brand.slug, name: config.brand.name },
    data: [...groups.values()].map((group) => toRecord(group, config)),
    pricing: sold(config).map(([id, { name, tier }]) => {
      const { input, output, discountPercent, effectiveInput, effectiveOutput } = effectivePrice(config, tier)
      return {
        id,
        name,
        tier,
        input,
        output,
        discount_percent: discountPercent,
        effective_input: effectiveInput,
        effective_output: effectiveOutput,
        currency: 'USD',
        per: 1_000_000,
      }
    }),
    discounts: { light: config.prices.light.discountPercent, flagship: config.prices.flagship.discountPercent, unit: 'percent' },
    credit: { currency: 'USD', per: 1_000_000 },
  }
}

function toRecord(
  group: readonly { readonly id: string; readonly plan: GatewayConfig['plans'][string] }[],
  config: GatewayConfig,
): Record<string, unknown> {
  const [first] = group
  if (first === undefined) return {}
  return {
    ...pointOf(first, config),
    prices: group.flatMap(({ plan }) => plan.prices),
    // What each price point includes, where a plan has more than one.
    ...(group.length > 1 ? { options: group.map((member) => ({ ...pointOf(member, config), prices: member.plan.prices })) } : {}),
  }
}

function pointOf(
  { id, plan }: { readonly id: string; readonly plan: GatewayConfig['plans'][string] },
  config: GatewayConfig,
): Record<string, unknown> {
  const models = sold(config)
    .map(([product]) => product)
    .filter((product) => planHas(plan, product))
  return { id, name: plan.name, rpm: plan.rpm, concurrency: plan.concurrency, pools: plan.pools, models }
}

function sold(config: GatewayConfig): [string, GatewayConfig['products'][string]][] {
  return Object.entries(config.products).filter(([id]) => isServed(config, id))
}
