/** The figures of a span: what was paid and returned for orders, and what turns brought and cost. */
import { createDayFormat } from '../../../../domain/billing/report-format.ts'
import { addSums, zeroSums } from '../../../../domain/billing/report.ts'
import type { ReportRow, ReportSums } from '../../../../domain/billing/report.ts'
import type { SaleSum } from '../../../../domain/billing/sale-lists.ts'
import type { OperatorContext } from '../../../page.ts'
import { packsName, toMoneyQuery } from './money-query.ts'
import type { MoneyGrouping, MoneySearch } from './money-query.ts'

/** Minor units by currency. */
export type Amounts = Readonly<Record<string, number>>

/** Of the table by day, after the one that names the row. */
export const moneyColumns = ['sold', 'credits', 'turns', 'cost', 'margin'] as const
export type MoneyColumn = (typeof moneyColumns)[number]

export interface MoneyRow {
  /** A day, the id of a plan or `packsName`, or the id of a product. */
  readonly key: string
  readonly sold: Amounts
  readonly returned: Amounts
  readonly turns: ReportSums
}

export interface MoneyFigures {
  readonly total: MoneyRow
  /** By what the address asks for. */
  readonly rows: readonly MoneyRow[]
}

export async function readMoneyFigures(context: OperatorContext, search: MoneySearch): Promise<MoneyFigures> {
  const { services } = context
  const { turnHistory } = services.membership
  const isOfProduct = search.product !== undefined
  const sales = isOfProduct ? [] : (await services.store.saleLists.readSums(search)).filter(isOfPlan(search.plan))
  const formatDay = createDayFormat(services.config.timeZone)
  const toKey: Readonly<Record<MoneyGrouping, (turns: ReportRow | SaleSum) => string | null>> = {
    day: (each) => formatDay('startsAt' in each ? each.startsAt : (each.day?.start ?? 0)),
    plan: (each) => ('startsAt' in each ? (each.plan ?? packsName) : (each.group.plan ?? '')),
    // An order is of no product.
    product: (each) => ('startsAt' in each ? null : (each.group.product ?? '')),
  }
  const group = async (by: MoneyGrouping): Promise<readonly MoneyRow[]> =>
    merge(await turnHistory.readMoney(toMoneyQuery(search, [by])), sales, toKey[by])
  const days = (await group('day')).toSorted((one, other) => (one.key < other.key ? -1 : 1))
  const rows = search.by === 'day' ? days.toReversed() : await group(search.by)
  const total = days.reduce<MoneyRow>(
    (sum, { sold, returned, turns }) => ({
      key: '',
      sold: addAmounts(sum.sold, sold),
      returned: addAmounts(sum.returned, returned),
      turns: addSums(sum.turns, turns),
    }),
    createRow(''),
  )
  return { total, rows }
}

function isOfPlan(plan: string | undefined): (sale: SaleSum) => boolean {
  return (sale) => plan === undefined || (sale.plan ?? packsName) === plan
}

function merge(
  turns: readonly ReportRow[],
  sales: readonly SaleSum[],
  toKey: (each: ReportRow | SaleSum) => string | null,
): readonly MoneyRow[] {
  const rows = new Map<string, MoneyRow>()
  const get = (key: string): MoneyRow => rows.get(key) ?? createRow(key)
  for (const each of turns) {
    const key = toKey(each) ?? ''
    const row = get(key)
    rows.set(key, { ...row, turns: addSums(row.turns, each.sums) })
  }
  for (const sale of sales) {
    const key = toKey(sale)
    if (key === null) continue
    const row = get(key)
    rows.set(key, { ...row, [sale.kind]: addAmounts(row[sale.kind], { [sale.currency]: sale.amount }) })
  }
  return [...rows.values()]
}

function createRow(key: string): MoneyRow {
  return { key, sold: {}, returned: {}, turns: zeroSums }
}

function addAmounts(one: Amounts, other: Amounts): Amounts {
  const sum: Record<string, number> = { ...one }
  for (const [currency, amount] of Object.entries(other)) sum[currency] = (sum[currency] ?? 0) + amount
  return sum
}
