/** Rows of a report as records and CSV. Money is exact: decimal dollars down to a nano-dollar. */
import type { ReportDimension, ReportQuery, ReportRow, ReportSums } from './report.ts'
import { zeroSums } from './report.ts'

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

/**
 * RFC 4180, with plain line feeds. A text that a spreadsheet would calculate, such as an id that a client chose, begins with an apostrophe:
 * it is then shown as it is.
 */
export function formatCsvLine(values: readonly Value[]): string {
  return `${values.map((value) => quoteCsv(value === null ? '' : disarm(String(value)))).join(',')}\n`
}

function disarm(text: string): string {
  return /^[=+\-@\t\r]/.test(text) && !/^-\d+(?:\.\d+)?$/.test(text) ? `'${text}` : text
}

function quoteCsv(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** `2026-11-28`: the civil date of an instant. */
export function createDayFormat(timeZone: string): (instant: number) => string {
  const formatter = new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' })
  return (instant) => formatter.format(instant)
}
