/** Formats the figures as Markdown. */
import { compareSubjects, groupByShape, computeLatencies } from './report.ts'
import type { Cost, Group, Latency, Ratio, Run } from './report.ts'
import { shapeNames } from '../subjects/subject.ts'
import { threadGroups } from '../machine/thread-cpu.ts'

type Row = readonly string[]

export function renderMarkdown(run: Run): string {
  const parts = [
    renderHead(run),
    ...groupByShape(run).map((group) => renderGroupTable(group)),
    renderLatencyTable(computeLatencies(run), run),
    renderStorageTable(run),
    ...run.pairs.map(([one, other]) => renderPairTable(run, one, other)),
    renderFootnote(run),
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function renderHead({ at, commit, args, machine, rounds, speed, samples }: Run): string {
  const disturbed = samples.filter((sample) => sample.disturbance !== null).length
  const drift = `its speed moved between ${(speed.min / speed.median).toFixed(2)} and ${(speed.max / speed.median).toFixed(2)} of the median`
  const quiet =
    disturbed === 0 ? 'nothing disturbed it' : `${disturbed} of ${samples.length} measurements were disturbed by others`
  return `${at}, ${commit}: \`npm run bench${args.length === 0 ? '' : ` -- ${args.join(' ')}`}\`\n${machine}; ${rounds} rounds; ${drift}; ${quiet}.`
}

function renderGroupTable({ shape, clients, costs }: Group): string {
  const what = `${shapeNames[shape]}, ${clients} client${clients === 1 ? '' : 's'}`
  return renderTable(
    [what, 'CPU µs a turn', '× bare', 'turns/s', '× bare', ...threadGroups],
    costs.map((cost) => [
      formatName(cost),
      markDisturbed(cost.cpu.toFixed(0), cost),
      formatRatio(cost.cpuRatio),
      markDisturbed(cost.turnsPerSecond.toFixed(0), cost),
      formatRatio(cost.rateRatio),
      ...threadGroups.map((group) => cost.threads[group].toFixed(0)),
    ]),
  )
}

function renderLatencyTable(latencies: readonly Latency[], { samples }: Run): string {
  if (latencies.length === 0) return ''
  const rate = samples.find((sample) => sample.kind === 'open')?.rate
  const ms = (value: number | undefined): string => (value === undefined ? '–' : value.toFixed(2))
  return renderTable(
    [`ms, ${rate} turns/s on the clock`, 'p50', 'p99', 'p99.9', 'added p50', 'added p99', 'sent late, p99'],
    latencies.map((each) => [
      formatName(each),
      ...[each.p50, each.p99, each.p999].map((value) => markDisturbed(ms(value), each)),
      ms(each.added?.p50),
      ms(each.added?.p99),
      ms(each.lateP99),
    ]),
  )
}

function renderStorageTable({ storage }: Run): string {
  const rows = Object.entries(storage)
  if (rows.length === 0) return ''
  const number = (value: number, digits: number): string => (Number.isFinite(value) ? value.toFixed(digits) : '–')
  return renderTable(
    ['bytes a turn', 'kept in the database', 'in the log', 'written to the disk', 'fsyncs', 'ledger operations a commit'],
    rows.map(([name, { databaseBytes, logBytes, writtenBytes, fsyncs, operationsPerCommit }]) => [
      name,
      ...[databaseBytes, logBytes, writtenBytes].map((value) => number(value, 0)),
      number(fsyncs, 3),
      number(operationsPerCommit, 1),
    ]),
  )
}

function renderPairTable(run: Run, one: string, other: string): string {
  const digits = (value: number): string => value.toFixed(value < 20 ? 2 : 0)
  return renderTable(
    [`${one} against ${other}`, 'here', 'there', 'here ÷ there', '95 % range', 'least–most'],
    compareSubjects(run, one, other).map(({ what, here, there, ratio }) => [
      what,
      digits(here),
      digits(there),
      ratio.median.toFixed(3),
      `${ratio.likely[0].toFixed(3)}–${ratio.likely[1].toFixed(3)}`,
      `${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)}`,
    ]),
  )
}

function renderFootnote({ samples }: Run): string {
  return samples.some((sample) => sample.disturbance !== null)
    ? '~ was measured beside other work for the most part: look at its ratio, if at anything.'
    : ''
}

function formatName({ subject, failed }: Cost | Latency): string {
  return failed === 0 ? subject : `${subject} (**${failed} turns failed**)`
}

function markDisturbed(text: string, { isDisturbed }: Cost | Latency): string {
  return isDisturbed ? `~${text}` : text
}

/** The median of the rounds' ratios, with minimum and maximum. */
function formatRatio(ratio: Ratio | undefined): string {
  if (ratio === undefined) return '–'
  const { median, min, max } = ratio
  return min === max ? median.toFixed(2) : `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`
}

/** Columns are as wide as their widest cell; figures are aligned to the right. */
function renderTable(head: Row, rows: readonly Row[]): string {
  const widths = head.map((_, column) => Math.max(4, ...[head, ...rows].map((row) => row[column]?.length ?? 0)))
  const line = (row: Row): string =>
    `| ${widths.map((width, column) => (column === 0 ? (row[column] ?? '').padEnd(width) : (row[column] ?? '').padStart(width))).join(' | ')} |`
  const rule = `|${widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  return [line(head), rule, ...rows.map(line)].join('\n')
}
