/**
 * The list behind each figure of the first page. Figures of a process count turns as they end, and lists find them by their beginning on every
 * node, so some lists are only the nearest ones.
 */
import { createDayFormat } from '../../../../domain/billing/report-format.ts'
import { formatInstant } from '../../../../domain/instant.ts'
import type { OldestHold } from '../../../../domain/turn-history/turn-history.ts'
import type { NodeFigures } from '../../../../services/health/node-figures.ts'
import type { OperatorContext } from '../../../page.ts'
import { consoleSections, hasScope } from '../sections.ts'
import { toSearchQuery } from '../turns/turn-search.ts'
import type { SearchValues } from '../turns/turn-search.ts'

const minuteMs = 60_000

export function listLinks(
  context: OperatorContext,
  { at, quarter, day, targets, oldestHold }: NodeFigures & { readonly oldestHold: OldestHold | undefined },
): Readonly<Record<string, string>> {
  const links: Record<string, string> = {}
  const { turns, failures, money, orders } = consoleSections
  if (hasScope(context, turns.access.scope)) {
    const since = (spanMs: number, values: SearchValues = {}): string =>
      turns.path + toSearchQuery({ ...values, from: formatInstant(at - spanMs) })
    links['per-minute'] = since(minuteMs)
    links['first-token'] = since(quarter.spanMs, { ending: 'completed' })
    if (oldestHold !== undefined) links['oldest-hold'] = `${turns.path}/${oldestHold.id}`
    for (const ending of Object.keys({ ...quarter.endings, ...day.endings })) {
      links[`quarter-${ending}`] = since(quarter.spanMs, { ending })
      links[`day-${ending}`] = since(day.spanMs, { ending })
    }
    for (const { target, lastFailure } of targets) {
      links[`calls-${target}`] = since(quarter.spanMs, { target })
      links[`success-${target}`] = failures.path + toSearchQuery({ target, from: formatInstant(at - quarter.spanMs) })
      if (lastFailure !== null) links[`failure-${target}`] = failures.path + toSearchQuery({ target })
    }
  }
  if (hasScope(context, money.access.scope)) {
    const today = createDayFormat(context.services.config.timeZone)(at)
    const days = { from: today, to: today }
    links['sold'] = `${orders.path}?${new URLSearchParams({ when: 'paid', ...days })}`
    links['credits'] = `${money.path}?${new URLSearchParams({ ...days, by: 'product' })}`
    links['cost'] = links['credits']
    links['ungranted'] = `${orders.path}?state=paid`
  }
  return links
}
