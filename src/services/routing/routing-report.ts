/** How products and their targets did over a span, from the sums of turns: for the operator API, the console and the status page. */
import { rateEndings } from '../../domain/turn-history/turn-success.ts'
import type { SuccessRate } from '../../domain/turn-history/turn-success.ts'
import type { UsageQuery, UsageSeries, UsageTotals } from '../../domain/turn-history/turn-history.ts'
import { toUsageSpan } from '../../domain/turn-history/usage-span.ts'
import type { UsageSpan } from '../../domain/turn-history/usage-span.ts'
import type { Services } from '../services.ts'
import { listRoutedProducts } from './target-routing.ts'
import type { RoutedTarget } from './target-routing.ts'

export interface RouteFigures {
  /** Null: turns that called no upstream. */
  readonly name: string | null
  /** Undefined where it is no target of the product any more. */
  readonly target: RoutedTarget | undefined
  readonly totals: UsageTotals | null
  readonly rate: SuccessRate
  readonly money: RouteMoney | null
}

/** In nano-dollars; null where what the target costs is not configured. */
export interface RouteMoney {
  readonly cost: number
  /** Credits charged, at their worth, less the cost. */
  readonly margin: number
}

export interface ProductFigures {
  readonly id: string
  readonly routes: readonly RouteFigures[]
  readonly totals: UsageTotals | null
  readonly rate: SuccessRate
}

export interface RoutingReport {
  /** When the first step begins, and the last one ends: those of the turns behind each figure. */
  readonly from: number
  readonly to: number
  readonly bounds: readonly number[]
  readonly total: UsageTotals
  readonly points: readonly UsageTotals[]
  /** In the order of the configuration, then those that are no longer in it. */
  readonly products: readonly ProductFigures[]
}

/** @param only of one product or target */
export async function readRouting(
  span: UsageSpan,
  services: Services,
  only: Pick<UsageQuery, 'product' | 'target'> = {},
): Promise<RoutingReport> {
  const { turnHistory } = services.membership
  const query = { ...toUsageSpan(span, services.clock.now()), ...only }
  const [byRoute, byProduct, totalChart] = await Promise.all([
    turnHistory.readUsage({ ...query, by: 'route' }),
    turnHistory.readUsage({ ...query, by: 'product' }),
    turnHistory.readUsage(query),
  ])
  const { bounds, total } = totalChart
  const configuredProducts = listRoutedProducts(services).filter(
    ({ product, targets }) =>
      (only.product === undefined || product.id === only.product) &&
      (only.target === undefined || targets.some(({ name }) => name === only.target)),
  )
  const ids = new Set([...configuredProducts.map(({ product }) => product.id), ...byProduct.series.map(({ key }) => key)])
  const products = [...ids].map((id) => {
    const targets = configuredProducts.find(({ product }) => product.id === id)?.targets ?? []
    const shownTargets = targets.filter(({ name }) => only.target === undefined || name === only.target)
    const totals = byProduct.series.find(({ key }) => key === id)?.total ?? null
    return { id, routes: listRoutes(id, shownTargets, byRoute.series), totals, rate: rateEndings(totals?.endings ?? {}) }
  })
  return {
    from: bounds[0] ?? query.from,
    to: bounds.at(-1) ?? query.to,
    bounds,
    total,
    points: totalChart.series[0]?.points ?? [],
    products,
  }
}

function listRoutes(product: string, targets: readonly RoutedTarget[], series: readonly UsageSeries[]): readonly RouteFigures[] {
  const productSeries = series.filter(({ route }) => route?.product === product)
  const names = new Set<string | null>([
    ...targets.map(({ name }) => name),
    ...productSeries.map(({ route }) => route?.target ?? null),
  ])
  return [...names].map((name) => {
    const totals = productSeries.find(({ route }) => route?.target === name)?.total ?? null
    const target = targets.find((each) => each.name === name)
    return { name, target, totals, rate: rateEndings(totals?.endings ?? {}), money: toMoney(totals, target) }
  })
}

/** A credit is a millionth of a dollar. */
function toMoney(totals: UsageTotals | null, target: RoutedTarget | undefined): RouteMoney | null {
  if (totals === null) return null
  const { costNanodollars: cost, credits } = totals
  const isKnown = cost > 0 || (target?.cost ?? null) !== null
  return isKnown ? { cost, margin: credits * 1000 - cost } : null
}
