/** Sums of the turn log, grouped by the database. */
import type { ReportDimension, ReportGroup, ReportQuery, ReportSlot, ReportSums } from '../../../domain/billing/report.ts'
import { reportSumNames } from '../../../domain/billing/report.ts'
import { usageSlotMs } from '../../ledger/usage-sum.ts'

/** A row of the statement. Sums are texts, because they may be larger than the exact integers of `number`. */
export type ReportRecord = Readonly<Record<string, string | number | null>>

const listPrice = `(turn.input_tokens - turn.cached_input_tokens) * turn.price_input
  + turn.cached_input_tokens * coalesce(turn.price_cached_input, turn.price_input) + turn.output_tokens * turn.price_output`

/** Charges are rounded up to whole credits, and flat prices have no tokens. */
const listPriceOfTurn = `case when ${listPrice} > turn.credits * 1000 then ${listPrice} else turn.credits * 1000 end`

const sums: Readonly<Record<keyof ReportSums, string>> = {
  turns: `count(case when turn.state = 'settled' then 1 end)`,
  failed: `count(case when turn.state <> 'settled' then 1 end)`,
  inputTokens: 'sum(turn.input_tokens)',
  cachedInputTokens: 'sum(turn.cached_input_tokens)',
  outputTokens: 'sum(turn.output_tokens)',
  credits: 'sum(turn.credits)',
  listPrice: `sum(${listPriceOfTurn})`,
  cost: 'coalesce(sum(turn.upstream_cost_nanodollars), 0)',
  margin: 'coalesce(sum(turn.credits * 1000 - turn.upstream_cost_nanodollars), 0)',
  turnsWithoutCost: `count(case when turn.state = 'settled' and turn.target is not null and turn.upstream_cost_nanodollars is null then 1 end)`,
}

/** The same on both databases, except for the upstream's name, which is the target up to the first slash. */
const dimensions: Readonly<Record<ReportDimension, string>> = {
  account: 'turn.account',
  product: 'turn.model',
  // Release 0.1 recorded no plan: the present one stands for it.
  plan: 'coalesce(turn.plan, account.plan)',
  upstream: 'turn.upstream',
  key: 'turn.credential',
  day: `turn.started_at - turn.started_at % ${usageSlotMs}`,
}

const upstreamOfTarget = {
  sqlite: `substr(target, 1, instr(target, '/') - 1)`,
  postgres: `split_part(target, '/', 1)`,
} as const

/** One row for each group: the oldest slot first, then the most credits. */
export function buildReportStatement({ by, from, to }: ReportQuery, database: keyof typeof upstreamOfTarget): string {
  const bounds = [
    ...(from === undefined ? [] : [`started_at >= ${toInteger(from)}`]),
    ...(to === undefined ? [] : [`started_at < ${toInteger(to)}`]),
  ]
  const columns = by.map((name) => `${dimensions[name]} as "${name}"`)
  const order = [...(by.includes('day') ? [dimensions.day] : []), `${sums.credits} desc`, ...by.map((name) => dimensions[name])]
  return `select ${[...columns, ...reportSumNames.map((name) => `cast(${sums[name]} as text) as "${name}"`)].join(', ')}
    from (select *, ${upstreamOfTarget[database]} as upstream from turn
      where ${["state <> 'held'", ...bounds].join(' and ')}) as turn
    ${by.includes('plan') ? 'left join account on account.id = turn.account' : ''}
    ${by.length === 0 ? '' : `group by ${by.map((name) => dimensions[name]).join(', ')}`}
    order by ${order.join(', ')}`
}

export function toReportSlot({ by }: ReportQuery, row: ReportRecord): ReportSlot {
  const { day = null } = row
  const group = Object.fromEntries(by.filter((name) => name !== 'day').map((name) => [name, row[name] ?? null])) as ReportGroup
  const values = Object.fromEntries(reportSumNames.map((name) => [name, BigInt(row[name] ?? 0)])) as unknown as ReportSums
  return { group, startsAt: day === null ? null : Number(day), sums: values }
}

function toInteger(instant: number): string {
  if (!Number.isSafeInteger(instant)) throw new RangeError(`${instant} is no instant`)
  return String(instant)
}
