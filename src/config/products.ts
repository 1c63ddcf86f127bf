/** The products of this installation, and which of them a plan may use. */
import type { GatewayConfig } from './config.ts'
import type { Plan } from '../domain/billing/catalog/plan.ts'
import { planIncludes } from '../domain/billing/catalog/plan.ts'
import type { Product, Tier } from '../domain/billing/catalog/product.ts'

/** A dollar per million tokens is a thousand nano-dollars per token. */
const nanoDollarsPerToken = 1000
const deprecationNoticeMs = 90 * 86_400_000

/** Dollars per million tokens: list price, and price after the tier's discount. */
interface EffectivePrice {
  readonly input: number
  /** The same as `input` if tokens from a cache have no price of their own. */
  readonly cachedInput: number
  readonly output: number
  readonly effectiveInput: number
  readonly effectiveCachedInput: number
  readonly effectiveOutput: number
  readonly discountPercent: number
}

export function computeEffectivePrice({ prices }: Pick<GatewayConfig, 'prices'>, tier: Tier): EffectivePrice {
  const { input, output, discountPercent } = prices[tier]
  const cachedInput = prices[tier].cachedInput ?? input
  const applyDiscount = (price: number): number => Number(((price * (100 - discountPercent)) / 100).toFixed(6))
  return {
    input,
    cachedInput,
    output,
    discountPercent,
    effectiveInput: applyDiscount(input),
    effectiveCachedInput: applyDiscount(cachedInput),
    effectiveOutput: applyDiscount(output),
  }
}

/** Whether a tier has a price of its own for tokens from a cache, so that it has to be shown. */
export function hasCachedPrice({ prices }: Pick<GatewayConfig, 'prices'>): boolean {
  return Object.values(prices).some(({ input, cachedInput }) => (cachedInput ?? input) !== input)
}

export class Products {
  /** Products that can be served. */
  readonly all: readonly Product[]
  /** Configured products that cannot be served. They appear in no list. */
  readonly unserved: readonly Product[]
  readonly #byId: ReadonlyMap<string, Product>

  constructor(config: GatewayConfig) {
    const allProducts = Object.entries(config.products).map(([id, product]) => {
      const price = config.prices[product.tier]
      return {
        id,
        ...product,
        capabilities: hasVisionByRule(product, config) ? [...product.capabilities, 'vision' as const] : product.capabilities,
        price: {
          input: toNanoDollars(price.input),
          ...(price.cachedInput === null ? null : { cachedInput: toNanoDollars(price.cachedInput) }),
          output: toNanoDollars(price.output),
          discountPercent: price.discountPercent,
        },
      }
    })
    this.all = allProducts.filter(({ id }) => isServed(config, id))
    this.unserved = allProducts.filter(({ id }) => !isServed(config, id))
    this.#byId = new Map(allProducts.map((product) => [product.id, product]))
  }

  /** Served or not: a request for an unserved product gets an error that says so. */
  get(id: string): Product | undefined {
    return this.#byId.get(id)
  }

  /** In the order of the configuration. */
  availableTo(plan: Plan, now: number): Product[] {
    return this.all.filter((product) => planIncludes(plan, product.id) && !this.isRetired(product, now))
  }

  isRetired(product: Product, now: number): boolean {
    return product.shutdownDate !== null && now >= Date.parse(product.shutdownDate)
  }

  /** `Deprecation` (RFC 9745) and `Sunset` (RFC 8594) of a product that will be retired; deprecated ninety days before. */
  deprecationHeaders({ shutdownDate }: Product): Record<string, string> {
    if (shutdownDate === null) return {}
    const shutdownAt = Date.parse(shutdownDate)
    return {
      deprecation: `@${Math.floor((shutdownAt - deprecationNoticeMs) / 1000)}`,
      sunset: new Date(shutdownAt).toUTCString(),
    }
  }
}

function toNanoDollars(dollarsPerMillion: number): number {
  return Math.round(dollarsPerMillion * nanoDollarsPerToken)
}

/** A rule sends its images to a product with vision, so members see a product with vision. */
function hasVisionByRule({ capabilities, rules }: GatewayConfig['products'][string], { products }: GatewayConfig): boolean {
  if (capabilities.includes('vision')) return false
  return rules.some(({ when, use }) => when === 'images' && products[use]?.capabilities.includes('vision') === true)
}

/**
 * A chat product may use its own id as the model; search and image products need a configured model, unless a search engine is configured.
 */
export function isServed({ products, search }: Pick<GatewayConfig, 'products' | 'search'>, id: string): boolean {
  const product = Object.hasOwn(products, id) ? products[id] : undefined
  if (product === undefined) return false
  const { capabilities, targets } = product
  if (capabilities.includes('chat') || targets.some(({ model }) => model !== null)) return true
  return capabilities.includes('search') && search.backend !== 'upstream'
}
