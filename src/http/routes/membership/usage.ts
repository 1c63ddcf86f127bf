/** An account's pools, boosts and turns, and its usage by day. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import { listTurns, showUsage, showUsageHistory } from '../../../api/membership/usage.ts'
import { maskEmail } from '../../../domain/identity/audit.ts'
import { formatInstant } from '../../../domain/instant.ts'
import type { Period } from '../../../domain/billing/period.ts'
import { resolvePlan } from '../../../domain/billing/subscriptions/terms.ts'
import type { Pool } from '../../../domain/billing/catalog/product.ts'
import { toUsageBoosts, toUsagePools, toUsageTurn } from '../../../domain/billing/usage/usage.ts'
import type { DailyUsage } from '../../../domain/billing/usage/usage.ts'
import { formatDay, getBalance, listLastDays, readUsageHistory } from '../../../services/member-usage.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeEndpoint } from '../../endpoint-handler.ts'

const maxTurnsShown = 50
const dayCount = 30

export function mountUsageRoutes(
  serve: ServeEndpoint,
  services: Pick<Services, 'calendar' | 'clock' | 'config' | 'ledger' | 'membership' | 'store'>,
): void {
  const { ledger, config, store } = services

  serve(showUsage, async ({ member: { account } }) => {
    const plan = resolvePlan(config, account)
    const balance = await getBalance(account, services)
    const turns = await ledger.turns({ account: account.id, limit: maxTurnsShown })
    const days = listLastDays(services, dayCount)
    const usedDays = await store.dailyUsage.listSince(account.id, days[0] ?? 0)
    return {
      account: { id: account.id, email_masked: maskEmail(account.email), plan: plan.id },
      plan: plan.id,
      plan_until: formatInstant(account.planUntil),
      plan_name: plan.name,
      pools: toUsagePools(balance),
      boosts: toUsageBoosts(balance),
      turns: turns.map(toUsageTurn),
      days: days.map((startsAt) => toDay(startsAt, usedDays, services)),
    }
  })

  serve(showUsageHistory, ({ member: { account }, query }) =>
    readUsageHistory(account.id, { days: Number(query.days), by: query.by }, services),
  )

  serve(listTurns, async ({ member: { account }, query }) => {
    const { limit, offset, model, credential, api_format: apiFormat, state, since, until } = query
    const turns = await ledger.turns({
      account: account.id,
      limit: limit + 1,
      ...(offset === 0 ? {} : { offset }),
      ...(model === undefined ? {} : { model }),
      ...(credential === undefined ? {} : { credential }),
      ...(apiFormat === undefined ? {} : { apiFormat }),
      ...(state === undefined ? {} : { state }),
      ...(since === undefined ? {} : { since: Date.parse(since) }),
      ...(until === undefined ? {} : { until: Date.parse(until) }),
    })
    return { object: 'list', data: turns.slice(0, limit).map(toUsageTurn), has_more: turns.length > limit }
  })
}

function toDay(
  startsAt: number,
  days: readonly DailyUsage[],
  { calendar, clock, config }: Pick<Services, 'calendar' | 'clock' | 'config'>,
): ResponseOf<typeof showUsage>['days'][number] {
  const { day } = calendar.getPeriods(startsAt)
  const now = clock.now()
  // A day recorded in another time zone counts for the day that has its middle; one that has just begun counts for today.
  const startsOnDay = ({ start, end }: Period): boolean => {
    const middle = Math.min((start + end) / 2, now)
    return day.start <= middle && middle < day.end
  }
  const sumUsed = (pool: Pool): number =>
    days.reduce((sum, one) => (one.pool === pool && startsOnDay(one.period) ? sum + one.used : sum), 0)
  return { day: formatDay(startsAt, config), fast: sumUsed('fast'), premium: sumUsed('premium') }
}
