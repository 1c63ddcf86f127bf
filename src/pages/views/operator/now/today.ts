/** What was sold, charged and paid to upstreams today, of all nodes; as exact as the page of money, which has the same figures. */
import { formatPrice } from '../../../../domain/billing/money.ts'
import { formatDollars, isCostKnown } from '../../../../domain/billing/report-format.ts'
import { zeroSums } from '../../../../domain/billing/report.ts'
import type { ReportSums } from '../../../../domain/billing/report.ts'
import type { SaleSum } from '../../../../domain/billing/sale-lists.ts'
import { formatNumber } from '../../../format.ts'
import { interpolate } from '../../../page.ts'
import type { OperatorContext } from '../../../page.ts'

export interface Today {
  readonly turns: ReportSums
  readonly sales: readonly SaleSum[]
}

export async function readToday({ services }: OperatorContext): Promise<Today> {
  const { start: from, end: to } = services.calendar.getPeriods(services.clock.now()).day
  const [rows, sales] = await Promise.all([
    services.membership.turnHistory.readMoney({ by: [], from, to }),
    services.store.saleLists.readSums({ from, to }),
  ])
  return { turns: rows[0]?.sums ?? zeroSums, sales }
}

export function describeToday(context: OperatorContext, { turns, sales }: Today): Readonly<Record<string, string>> {
  const { t, language } = context
  const { now: texts } = t.console
  const count = (value: bigint): string => formatNumber(Number(value), language)
  const returnedAmount = describeSales(context, sales, 'returned')
  const isKnown = isCostKnown(turns)
  return {
    sold: describeSales(context, sales, 'sold') ?? '–',
    'sold-more': returnedAmount === null ? '' : interpolate(texts.returnedToday, { amount: returnedAmount }),
    credits: count(turns.credits),
    'credits-more': interpolate(texts.chargedTurns, { count: count(turns.turns) }),
    cost: isKnown ? `${formatDollars(turns.cost)} USD` : '–',
    'cost-more':
      turns.turnsWithoutCost > 0n
        ? interpolate(texts.costUnknown, { count: count(turns.turnsWithoutCost) })
        : interpolate(texts.margin, { amount: `${formatDollars(turns.margin)} USD` }),
  }
}

/** Null: nothing. */
function describeSales({ language }: OperatorContext, sales: readonly SaleSum[], kind: SaleSum['kind']): string | null {
  const sums = new Map<string, number>()
  for (const sale of sales) if (sale.kind === kind) sums.set(sale.currency, (sums.get(sale.currency) ?? 0) + sale.amount)
  const prices = [...sums].map(([currency, amount]) => formatPrice({ amount, currency }, language))
  return prices.length === 0 ? null : prices.join(', ')
}
