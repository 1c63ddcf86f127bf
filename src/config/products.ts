/** The product table of this installation, and which of it a plan may use. */
import type { GatewayConfig } from './config.ts'
import type { Plan } from '../membership/plan.ts'
import { planHas } from '../membership/plan.ts'
import type { Product, Tier } from '../membership/product.ts'

/** Dollars a million tokens are thousands of nano-dollars a token. */
const nanoDollarsPerToken = 1000
const noticeMs = 90 * 86_400_000

/** Dollars a million tokens: as listed, and as charged after the tier's discount. */
export interface EffectivePrice {
  readonly input: number
  readonly output: number
  readonly effectiveInput: number
  readonly effectiveOutput: number
  readonly discountPercent: number
}

export function effectivePrice({ prices }: Pick<GatewayConfig, 'prices'>, tier: Tier): EffectivePrice {
  const { input, output, discountPercent } = prices[tier]
  const less = (price: number): number => Number(((price * (100 - discountPercent)) / 100).toFixed(6))
  return { input, output, discountPercent, effectiveInput: less(input), effectiveOutput: less(output) }
}

export class Products {
  /** What is sold: every product that something can serve. */
  readonly all: readonly Product[]
  /** What stands in the configuration and cannot be served, so that it is on no list. */
  readonly unsold: readonly Product[]
  readonly #byId: ReadonlyMap<string, Product>

  constructor(config: GatewayConfig) {
    const every = Object.entries(config.products).map(([id, product]) => {
      const price = config.prices[product.tier]
      return {
        id,
        ...product,
        capabilities: seesThroughAnother(product, config) ? [...product.capabilities, 'vision' as const] : product.capabilities,
        price: {
          input: Math.round(price.input * nanoDollarsPerToken),
          output: Math.round(price.output * nanoDollarsPerToken),
          discountPercent: price.discountPercent,
        },
      }
    })
    this.all = every.filter(({ id }) => isServed(config, id))
    this.unsold = every.filter(({ id }) => !isServed(config, id))
    this.#byId = new Map(every.map((product) => [product.id, product]))
  }

  /** Sold or not: whoever asks by its name for one that is not is told so. */
  get(id: string): Product | undefined {
    return this.#byId.get(id)
  }

  /** In the configuration's order. */
  availableTo(plan: Plan, now: number): Product[] {
    return this.all.filter((product) => planHas(plan, product.id) && !this.isGone(product, now))
  }

  isGone(product: Product, now: number): boolean {
    return product.shutdownDate !== null && now >= Date.parse(product.shutdownDate)
  }

  /** `Deprecation` (RFC 9745) and `Sunset` (RFC 8594) of a product that will go; deprecated ninety days before. */
  deprecationHeaders({ shutdownDate }: Product): Record<string, string> {
    if (shutdownDate === null) return {}
    const gone = Date.parse(shutdownDate)
    return { deprecation: `@${Math.floor((gone - noticeMs) / 1000)}`, sunset: new Date(gone).toUTCString() }
  }
}

/** Its pictures are sent to a product that sees: to members that is vision like any other. */
function seesThroughAnother({ capabilities, rules }: GatewayConfig['products'][string], { products }: GatewayConfig): boolean {
  if (capabilities.includes('vision')) return false
  return rules.some(({ when, use }) => when === 'images' && products[use]?.capabilities.includes('vision') === true)
}

/** An ordinary model may go by the product's own id; one that searches or paints must be named, unless an engine does the finding. */
export function isServed({ products, search }: Pick<GatewayConfig, 'products' | 'search'>, id: string): boolean {
  const product = products[id]
  if (product === undefined) return false
  const { capabilities, targets } = product
  if (capabilities.includes('chat') || targets.some(({ model }) => model !== null)) return true
  return capabilities.includes('search') && search.backend !== 'upstream'
}
