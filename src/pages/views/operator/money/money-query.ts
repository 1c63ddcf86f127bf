/** What the address of the figures asks for: whole days of the service's time zone, and how they are grouped. */
import { createDayFormat } from '../../../../domain/billing/report-format.ts'
import type { MoneyQuery } from '../../../../domain/turn-history/turn-history.ts'
import { formatNumber } from '../../../format.ts'
import { interpolate } from '../../../page.ts'
import type { OperatorContext } from '../../../page.ts'
import { consoleSections } from '../sections.ts'

export const moneyGroupings = ['day', 'plan', 'product'] as const
export type MoneyGrouping = (typeof moneyGroupings)[number]

const defaultDays = 30
export const maxMoneyDays = 92
const maxNameChars = 128

/** The value of `plan` in an address for what belongs to no plan: packs. */
export const packsName = 'packs'

export interface MoneySearch {
  /** Days as they stand in the address: both are in the span. */
  readonly first: string
  readonly last: string
  /** From the beginning of the first to the end of the last one. */
  readonly from: number
  readonly to: number
  readonly by: MoneyGrouping
  readonly plan: string | undefined
  readonly product: string | undefined
  /** Why the typed days cannot be used; the default ones are shown instead. */
  readonly fault: string | null
}

export function readMoneySearch({ t, query, services, language }: OperatorContext): MoneySearch {
  const { calendar, clock, config } = services
  const { money: texts } = t.console
  const formatDay = createDayFormat(config.timeZone)
  const today = calendar.getPeriods(clock.now()).day
  const toEnd = (day: number): number => calendar.getPeriods(day).day.end
  const addDays = (day: number, days: number): number => calendar.addSpan(day, { count: days, unit: 'd' })
  const typedFrom = query.get('from') ?? ''
  const typedTo = query.get('to') ?? ''
  const last = typedTo === '' ? today.start : readDay(calendar, typedTo)
  const firstOf = (end: number): number => calendar.getPeriods(addDays(end, 1 - defaultDays)).day.start
  const first = typedFrom === '' ? (last === undefined ? undefined : firstOf(last)) : readDay(calendar, typedFrom)
  const name = (value: string | null): string | undefined =>
    value === null || value === '' ? undefined : value.slice(0, maxNameChars)
  const shared = {
    by: moneyGroupings.find((each) => each === query.get('by')) ?? 'day',
    plan: name(query.get('plan')),
    product: name(query.get('product')),
  }
  const show = (from: number, day: number, fault: string | null): MoneySearch => ({
    ...shared,
    from,
    to: toEnd(day),
    first: formatDay(from),
    last: formatDay(day),
    fault,
  })
  if (first === undefined || last === undefined) return show(firstOf(today.start), today.start, texts.noDay)
  if (first > last) return show(firstOf(today.start), today.start, t.console.turns.endsBefore)
  if (toEnd(last) > toEnd(addDays(first, maxMoneyDays - 1)))
    return show(
      firstOf(today.start),
      today.start,
      interpolate(t.console.failures.tooLong, { days: formatNumber(maxMoneyDays, language) }),
    )
  return show(first, last, null)
}

export function toMoneyQuery({ from, to, plan, product }: MoneySearch, by: MoneyQuery['by']): MoneyQuery {
  return { by, from, to, ...(plan === undefined ? {} : { plan }), ...(product === undefined ? {} : { product }) }
}

/** The address of the same figures with other values; undefined removes one. */
export function toMoneyAddress(
  { first, last, by, plan, product }: MoneySearch,
  changed: Readonly<Partial<Record<'from' | 'to' | 'by' | 'plan' | 'product', string | undefined>>>,
): string {
  const values = { from: first, to: last, by, plan, product, ...changed }
  const entries = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return `${consoleSections.money.path}?${new URLSearchParams(entries)}`
}

function readDay({ getDayStart }: { getDayStart(date: string): number | undefined }, text: string): number | undefined {
  return /^\d{4}-\d\d-\d\d$/.test(text) ? getDayStart(text) : undefined
}
