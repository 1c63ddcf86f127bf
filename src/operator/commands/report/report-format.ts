/** Writes the rows of a report as a table, as CSV and as JSON. Money is exact: decimal dollars down to a nano-dollar. */
import type { ReportDimension, ReportQuery, ReportRow, ReportSums } from '../../../domain/billing/report.ts'
import { zeroSums } from '../../../domain/billing/report.ts'
import { drawTable } from '../../output.ts'

type Value = string | number | null

export interface ReportFormat {
  readonly names: readonly string[]
  /** In the order of the names. */
  toValues(row: ReportRow): readonly Value[]
  toRecord(row: ReportRow, by?: readonly ReportDimension[]): Readonly<Record<string, Value>>
}

export function createReportFormat({ by }: Pick<ReportQuery, 'by'>, timeZone: string): ReportFormat {
  const formatDay = createDayFormat(timeZone)
  const toRecord: ReportFormat['toRecord'] = ({ group, day, sums }, dimensions = by) => ({
    ...Object.fromEntries(
      dimensions.map((name) => [name, name === 'day' ? (day === null ? null : formatDay(day.start)) : (group[name] ?? null)]),
    ),
    turns: Number(sums.turns),
    failed: Number(sums.failed),
    input_tokens: Number(sums.inputTokens),
    cached_input_tokens: Number(sums.cachedInputTokens),
    output_tokens: Number(sums.outputTokens),
    credits: Number(sums.credits),
    list_price_usd: formatDollars(sums.listPrice),
    upstream_cost_usd: isCostKnown(sums) ? formatDollars(sums.cost) : null,
    margin_usd: isCostKnown(sums) ? formatDollars(sums.margin) : null,
    turns_without_cost: Number(sums.turnsWithoutCost),
  })
  const empty = { group: {}, day: null, sums: zeroSums }
  return { names: Object.keys(toRecord(empty)), toRecord, toValues: (row) => Object.values(toRecord(row)) }
}

interface DrawnReport {
  readonly rows: readonly ReportRow[]
  readonly total: ReportSums
  readonly emails: ReadonlyMap<string, string | null>
  readonly timeZone: string
}

export function drawReport({ by }: Pick<ReportQuery, 'by'>, { rows, total, emails, timeZone }: DrawnReport): string {
  const formatDay = createDayFormat(timeZone)
  const getCell = (name: ReportDimension, { group, day }: ReportRow): string => {
    if (name === 'day') return day === null ? '-' : formatDay(day.start)
    const value = group[name] ?? '-'
    return name === 'account' ? (emails.get(value) ?? value) : value
  }
  const lines = [...rows.map((row) => ({ row, isTotal: false })), { row: { group: {}, day: null, sums: total }, isTotal: true }]
  const amount = (heading: string, format: (sums: ReportSums) => string, drop?: number) => ({
    heading,
    cell: ({ row }: (typeof lines)[number]) => format(row.sums),
    align: 'right' as const,
    ...(drop === undefined ? {} : { drop }),
  })
  return drawTable(lines, [
    ...by.map((name, index) => ({
      heading: name,
      cell: ({ row, isTotal }: (typeof lines)[number]) => (isTotal ? (index === 0 ? 'total' : '') : getCell(name, row)),
    })),
    amount('turns', ({ turns }) => `${turns}`),
    amount('failed', ({ failed }) => `${failed}`, 4),
    amount('in', ({ inputTokens }) => `${inputTokens}`, 2),
    amount('cached', ({ cachedInputTokens }) => `${cachedInputTokens}`, 5),
    amount('out', ({ outputTokens }) => `${outputTokens}`, 3),
    amount('credits', ({ credits }) => `${credits}`),
    amount('list $', ({ listPrice }) => roundDollars(listPrice), 1),
    amount('cost $', (sums) => (isCostKnown(sums) ? roundDollars(sums.cost) : '-')),
    amount('margin $', (sums) => (isCostKnown(sums) ? roundDollars(sums.margin) : '-')),
  ])
}

/** False where turns were charged and the cost of none is known. */
export function isCostKnown({ turns, turnsWithoutCost, cost }: ReportSums): boolean {
  return turnsWithoutCost === 0n || turnsWithoutCost < turns || cost > 0n
}

/** All digits, with trailing zeros removed. */
export function formatDollars(nanoDollars: bigint): string {
  const digits = (nanoDollars < 0n ? -nanoDollars : nanoDollars).toString().padStart(10, '0')
  const fraction = digits.slice(-9).replace(/0+$/, '')
  return `${nanoDollars < 0n ? '-' : ''}${digits.slice(0, -9)}${fraction === '' ? '' : `.${fraction}`}`
}

/** Four decimal places, rounded half away from zero. */
function roundDollars(nanoDollars: bigint): string {
  const unit = 100_000n
  const size = nanoDollars < 0n ? -nanoDollars : nanoDollars
  const rounded = ((size + unit / 2n) / unit).toString().padStart(5, '0')
  const sign = nanoDollars < 0n && !/^0+$/.test(rounded) ? '-' : ''
  return `${sign}${rounded.slice(0, -4)}.${rounded.slice(-4)}`
}

/** RFC 4180, with plain line feeds. */
export function formatCsvLine(values: readonly Value[]): string {
  return `${values.map((value) => quoteCsv(value === null ? '' : String(value))).join(',')}\n`
}

function quoteCsv(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** `2026-11-28`: the civil date of an instant. */
function createDayFormat(timeZone: string): (instant: number) => string {
  const formatter = new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' })
  return (instant) => formatter.format(instant)
}
