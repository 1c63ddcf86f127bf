/** Reports of ended turns: sums by account, product and other dimensions, for operators and their finance tools. */
import type { Calendar, Period } from './period.ts'

/** What rows can be grouped by. A turn belongs to the day in which it began. */
export const reportDimensions = ['account', 'product', 'plan', 'upstream', 'key', 'day'] as const
export type ReportDimension = (typeof reportDimensions)[number]

export interface ReportQuery {
  readonly by: readonly ReportDimension[]
  /** Only turns that began at or after this instant. */
  readonly from?: number
  /** Only turns that began before this instant. */
  readonly to?: number
}

/** The values of the dimensions other than `day`; null for turns that called no upstream, or whose plan is unknown. */
export type ReportGroup = Readonly<Partial<Record<Exclude<ReportDimension, 'day'>, string | null>>>

/** `bigint`, because sums of nano-dollars may be larger than the exact integers of `number`. */
export interface ReportSums {
  /** Turns that were charged. */
  readonly turns: bigint
  /** Turns that cost nothing because they failed. */
  readonly failed: bigint
  readonly inputTokens: bigint
  /** The part of `inputTokens` that upstreams read from their caches. */
  readonly cachedInputTokens: bigint
  readonly outputTokens: bigint
  /** Charged credits; a credit is a thousand nano-dollars. */
  readonly credits: bigint
  /** Tokens at the prices before the discount, in nano-dollars; of each turn at least what it was charged. */
  readonly listPrice: bigint
  /** What upstreams charged the operator, in nano-dollars, refunded turns included, as far as it is known. */
  readonly cost: bigint
  /** Charged credits less cost, of the turns whose cost is known, in nano-dollars. */
  readonly margin: bigint
  /** Charged turns that called an upstream whose cost is unknown; their credits are in no margin. */
  readonly turnsWithoutCost: bigint
}

export const reportSumNames = [
  'turns',
  'failed',
  'inputTokens',
  'cachedInputTokens',
  'outputTokens',
  'credits',
  'listPrice',
  'cost',
  'margin',
  'turnsWithoutCost',
] as const satisfies readonly (keyof ReportSums)[]

/** Sums of the turns of one group, of one quarter of an hour if the query is by day. */
export interface ReportSlot {
  readonly group: ReportGroup
  /** The start of the quarter of an hour; null if the query is not by day. */
  readonly startsAt: number | null
  readonly sums: ReportSums
}

export interface ReportRow {
  readonly group: ReportGroup
  readonly day: Period | null
  readonly sums: ReportSums
}

export const zeroSums: ReportSums = {
  turns: 0n,
  failed: 0n,
  inputTokens: 0n,
  cachedInputTokens: 0n,
  outputTokens: 0n,
  credits: 0n,
  listPrice: 0n,
  cost: 0n,
  margin: 0n,
  turnsWithoutCost: 0n,
}

export function addSums(one: ReportSums, other: ReportSums): ReportSums {
  return Object.fromEntries(reportSumNames.map((name) => [name, one[name] + other[name]])) as unknown as ReportSums
}

/**
 * Adds up the slots of each day: a day begins at a quarter of an hour in every time zone. Memory holds the groups of one day. Groups with the
 * most credits come first.
 *
 * @param slots oldest first
 */
export async function* mergeDays(
  slots: AsyncIterable<ReportSlot> | Iterable<ReportSlot>,
  calendar: Calendar,
): AsyncIterable<ReportRow> {
  let day: Period | null = null
  let groups = new Map<string, ReportRow>()
  for await (const { group, startsAt, sums } of slots) {
    if (startsAt === null) {
      yield { group, day: null, sums }
      continue
    }
    if (day === null || startsAt >= day.end) {
      yield* sortByCredits(groups)
      groups = new Map()
      const { start, end } = calendar.getPeriods(startsAt).day
      day = { start, end }
    }
    const key = JSON.stringify(Object.values(group))
    const existingRow = groups.get(key)
    groups.set(key, { group, day, sums: existingRow === undefined ? sums : addSums(existingRow.sums, sums) })
  }
  yield* sortByCredits(groups)
}

function sortByCredits(groups: ReadonlyMap<string, ReportRow>): readonly ReportRow[] {
  return [...groups.values()].toSorted((one, other) => Number(other.sums.credits - one.sums.credits))
}
