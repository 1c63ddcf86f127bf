/** `svc-gateway report`: tokens, credits, list price, the upstreams' cost and the margin of ended turns. */
import { addSums, mergeDays, reportDimensions, zeroSums } from '../../../domain/billing/report.ts'
import type { ReportDimension, ReportQuery, ReportRow, ReportSums } from '../../../domain/billing/report.ts'
import { findEmails } from '../../find-emails.ts'
import { CommandError, openInstallation } from '../../installation.ts'
import type { Installation } from '../../installation.ts'
import { renderResult } from '../../output.ts'
import type { CommandResult, OutputOptions, StreamedResult } from '../../output.ts'
import { parsePastInstant } from '../ledger.ts'
import { focusDimensions, focusHeading, toFocusRecord } from './focus-columns.ts'
import { createReportFormat, formatCsvLine } from '../../../domain/billing/report-format.ts'
import { drawReport } from './report-format.ts'

export interface ReportOptions extends OutputOptions {
  readonly by?: string
  readonly from?: string
  readonly to?: string
  readonly csv?: true
  readonly focus?: true
}

/** What a table shows at most; files have every row. */
const maxTableRows = 1_000

/** Rows are written as they are read, so that memory does not grow with their number. */
export async function report(options: ReportOptions): Promise<CommandResult | StreamedResult> {
  const { by = 'day', json, csv, focus } = options
  if ([json, csv, focus].filter(Boolean).length > 1) throw new CommandError('Only one of --json, --csv and --focus can be named.')
  if (focus === true && options.by !== undefined)
    throw new CommandError('--focus has its own grouping, which is the finest; leave --by out.')
  const dimensions = focus === true ? focusDimensions : parseDimensions(by)
  const installation = await openInstallation()
  const write = json ? writeJson : csv === true ? writeCsv : focus === true ? writeFocus : null
  try {
    const query = { by: dimensions, ...parseRange(options, installation) }
    if (write !== null) return { ok: true, pieces: closeAfter(write(query, installation), installation) }
    const result = await drawTableOf(query, installation)
    await installation.close()
    return result
  } catch (error) {
    await installation.close()
    throw error
  }
}

function parseDimensions(by: string): readonly ReportDimension[] {
  const names = by.split(',')
  const unknown = names.find((name) => !reportDimensions.some((known) => known === name))
  if (unknown !== undefined)
    throw new CommandError(`--by must be a list of ${reportDimensions.join(', ')} with commas between, not '${by}'.`)
  if (new Set(names).size < names.length) throw new CommandError(`--by names something twice: '${by}'.`)
  return names as ReportDimension[]
}

function parseRange({ from, to }: ReportOptions, installation: Installation): Pick<ReportQuery, 'from' | 'to'> {
  const range = {
    ...(from === undefined ? {} : { from: parsePastInstant('--from', from, installation) }),
    ...(to === undefined ? {} : { to: parsePastInstant('--to', to, installation) }),
  }
  if (range.from !== undefined && range.to !== undefined && range.from >= range.to)
    throw new CommandError('--from must be before --to.')
  return range
}

function readRows(query: ReportQuery, { store, calendar }: Installation): AsyncIterable<ReportRow> {
  return mergeDays(store.ledger.report(query), calendar)
}

async function drawTableOf(query: ReportQuery, installation: Installation): Promise<CommandResult> {
  const shownRows: ReportRow[] = []
  let count = 0
  let total: ReportSums = zeroSums
  for await (const row of readRows(query, installation)) {
    count += 1
    total = addSums(total, row.sums)
    if (shownRows.length < maxTableRows) shownRows.push(row)
  }
  const accounts = shownRows.flatMap(({ group: { account } }) => account ?? [])
  const emails = await findEmails(installation, accounts)
  const remainingRows = count - shownRows.length
  return renderResult({ json: false }, null, () =>
    [
      drawReport(query, { rows: shownRows, total, emails, timeZone: installation.config.timeZone }),
      ...(remainingRows === 0 ? [] : [`${remainingRows} more rows are in the total; --csv and --json have them all.`]),
      ...(total.turnsWithoutCost === 0n
        ? []
        : [
            `The cost of ${total.turnsWithoutCost} of ${total.turns} charged turns is unknown, and they are in no margin: name "cost" at their targets in the configuration.`,
          ]),
    ].join('\n'),
  )
}

async function* writeCsv(query: ReportQuery, installation: Installation): AsyncIterable<string> {
  const format = createReportFormat(query, installation.config.timeZone)
  yield formatCsvLine(format.names)
  for await (const row of readRows(query, installation)) yield formatCsvLine(format.toValues(row))
}

async function* writeJson(query: ReportQuery, installation: Installation): AsyncIterable<string> {
  const format = createReportFormat(query, installation.config.timeZone)
  const range = { from: toIso(query.from), to: toIso(query.to) }
  yield `{"object":"report","by":${JSON.stringify(query.by)},"from":${range.from},"to":${range.to},"data":[`
  let total: ReportSums = zeroSums
  let separator = '\n'
  for await (const row of readRows(query, installation)) {
    total = addSums(total, row.sums)
    yield `${separator}${JSON.stringify(format.toRecord(row))}`
    separator = ',\n'
  }
  yield `\n],"total":${JSON.stringify(format.toRecord({ group: {}, day: null, sums: total }, []))}}\n`
}

async function* writeFocus(query: ReportQuery, installation: Installation): AsyncIterable<string> {
  const { calendar, config } = installation
  yield formatCsvLine(focusHeading)
  for await (const row of readRows(query, installation))
    yield formatCsvLine(Object.values(toFocusRecord(row, { calendar, brand: config.brand })))
}

async function* closeAfter(text: AsyncIterable<string>, { close }: { close(): Promise<void> }): AsyncIterable<string> {
  try {
    yield* text
  } finally {
    await close()
  }
}

function toIso(instant: number | undefined): string {
  return instant === undefined ? 'null' : JSON.stringify(new Date(instant).toISOString())
}
