/** The figures as Markdown, to be pasted. */
import { comparisonsOf, groupsOf, latenciesOf } from './report.ts'
import type { Cost, Group, Latency, Ratio, Run } from './report.ts'
import { shapeNames } from './subject.ts'
import { threadGroups } from './threads.ts'

type Row = readonly string[]

export function markdownOf(run: Run): string {
  const parts = [
    headOf(run),
    ...groupsOf(run).map((group) => groupTable(group)),
    latencyTable(latenciesOf(run), run),
    booksTable(run),
    ...run.pairs.map(([one, other]) => pairTable(run, one, other)),
    feet(run),
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function headOf({ at, commit, asked, machine, rounds, speed, samples }: Run): string {
  const disturbed = samples.filter((sample) => sample.disturbed !== null).length
  const drift = `its speed moved between ${(speed.least / speed.middle).toFixed(2)} and ${(speed.most / speed.middle).toFixed(2)} of the median`
  const quiet =
    disturbed === 0 ? 'nothing disturbed it' : `${disturbed} of ${samples.length} measurements were disturbed by others`
  return `${at}, ${commit}: \`npm run bench${asked.length === 0 ? '' : ` -- ${asked.join(' ')}`}\`\n${machine}; ${rounds} rounds; ${drift}; ${quiet}.`
}

function groupTable({ shape, clients, costs }: Group): string {
  const what = `${shapeNames[shape]}, ${clients} client${clients === 1 ? '' : 's'}`
  return table(
    [what, 'CPU µs a turn', '× bare', 'turns/s', '× bare', ...threadGroups],
    costs.map((cost) => [
      nameOf(cost),
      mark(cost.cpu.toFixed(0), cost),
      shown(cost.cpuRatio),
      mark(cost.turnsPerSecond.toFixed(0), cost),
      shown(cost.rateRatio),
      ...threadGroups.map((group) => cost.threads[group].toFixed(0)),
    ]),
  )
}

function latencyTable(latencies: readonly Latency[], { samples }: Run): string {
  if (latencies.length === 0) return ''
  const rate = samples.find((sample) => sample.kind === 'open')?.rate
  const ms = (value: number | undefined): string => (value === undefined ? '–' : value.toFixed(2))
  return table(
    [`ms, ${rate} turns/s on the clock`, 'p50', 'p99', 'p99.9', 'added p50', 'added p99', 'sent late, p99'],
    latencies.map((each) => [
      nameOf(each),
      ...[each.p50, each.p99, each.p999].map((value) => mark(ms(value), each)),
      ms(each.added?.p50),
      ms(each.added?.p99),
      ms(each.lateP99),
    ]),
  )
}

function booksTable({ books }: Run): string {
  const rows = Object.entries(books)
  if (rows.length === 0) return ''
  const number = (value: number, digits: number): string => (Number.isFinite(value) ? value.toFixed(digits) : '–')
  return table(
    ['bytes a turn', 'kept in the database', 'in the log', 'written to the disk', 'fsyncs', 'ledger operations a commit'],
    rows.map(([name, { kept, logged, written, syncs, operationsACommit }]) => [
      name,
      ...[kept, logged, written].map((value) => number(value, 0)),
      number(syncs, 3),
      number(operationsACommit, 1),
    ]),
  )
}

function pairTable(run: Run, one: string, other: string): string {
  const digits = (value: number): string => value.toFixed(value < 20 ? 2 : 0)
  return table(
    [`${one} against ${other}`, 'here', 'there', 'here ÷ there', 'least–most'],
    comparisonsOf(run, one, other).map(({ what, here, there, ratio }) => [
      what,
      digits(here),
      digits(there),
      ratio.middle.toFixed(3),
      `${ratio.least.toFixed(2)}–${ratio.most.toFixed(2)}`,
    ]),
  )
}

function feet({ samples }: Run): string {
  return samples.some((sample) => sample.disturbed !== null)
    ? '~ was measured beside other work for the most part: look at its ratio, if at anything.'
    : ''
}

function nameOf({ subject, failed }: Cost | Latency): string {
  return failed === 0 ? subject : `${subject} (**${failed} turns failed**)`
}

function mark(text: string, { isDisturbed }: Cost | Latency): string {
  return isDisturbed ? `~${text}` : text
}

/** The median of the rounds' ratios, with the least and the most. */
function shown(ratio: Ratio | undefined): string {
  if (ratio === undefined) return '–'
  const { middle, least, most } = ratio
  return least === most ? middle.toFixed(2) : `${middle.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`
}

/** Columns as wide as their widest cell; figures stand to the right. */
function table(head: Row, rows: readonly Row[]): string {
  const widths = head.map((_, column) => Math.max(4, ...[head, ...rows].map((row) => row[column]?.length ?? 0)))
  const line = (row: Row): string =>
    `| ${widths.map((width, column) => (column === 0 ? (row[column] ?? '').padEnd(width) : (row[column] ?? '').padStart(width))).join(' | ')} |`
  const rule = `|${widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  return [line(head), rule, ...rows.map(line)].join('\n')
}
