/** Draws the rows of a report as a table, with amounts rounded to four decimal places. */
import type { ReportDimension, ReportQuery, ReportRow, ReportSums } from '../../../domain/billing/report.ts'
import { createDayFormat, isCostKnown } from '../../../domain/billing/report-format.ts'
import { drawTable } from '../../output.ts'

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

/** Four decimal places, rounded half away from zero. */
function roundDollars(nanoDollars: bigint): string {
  const unit = 100_000n
  const size = nanoDollars < 0n ? -nanoDollars : nanoDollars
  const roundedDigits = ((size + unit / 2n) / unit).toString().padStart(5, '0')
  const sign = nanoDollars < 0n && !/^0+$/.test(roundedDigits) ? '-' : ''
  return `${sign}${roundedDigits.slice(0, -4)}.${roundedDigits.slice(-4)}`
}
