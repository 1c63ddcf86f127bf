/** An account's pools, boosts and turns, and its usage by day. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import { listTurns, showUsage, showUsageHistory } from '../../../api/membership/usage.ts'
import { maskEmail } from '../../../domain/identity/audit.ts'
import type { Account } from '../../../domain/identity/account.ts'
import type { Balance } from '../../../domain/billing/ledger.ts'
import { formatInstant } from '../../../domain/instant.ts'
import type { Period } from '../../../domain/billing/period.ts'
import { getPlan } from '../../../domain/billing/plan.ts'
import type { Pool } from '../../../domain/billing/product.ts'
import { toUsageBoosts, toUsagePools, toUsageTurn } from '../../../domain/billing/usage.ts'
import type { DailyUsage } from '../../../domain/billing/usage.ts'
import { groupUsage } from '../../../domain/billing/usage-history.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeEndpoint } from '../../endpoint-handler.ts'

const maxTurnsShown = 50
const dayCount = 30
const dayMs = 86_400_000

export function mountUsageRoutes(serve: ServeEndpoint, services: Services): void {
  const { ledger, config, store } = services

  serve(showUsage, async ({ member: { account } }) => {
    const plan = getPlan(config, account.plan)
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

  serve(showUsageHistory, async ({ member: { account }, query }) => {
    const days = listLastDays(services, Number(query.days))
    const sums = await store.usageSums.listSince(account.id, days[0] ?? 0)
    const names = query.by === 'key' ? await listKeyNames(account.id, services) : new Map<string, string>()
    return {
      ...groupUsage(sums, days, query.by, names),
      days: days.map((startsAt) => formatDay(startsAt, config)),
      by: query.by,
    }
  })

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

/** An account's pools and packs, with the limits of its plan. */
export function getBalance(
  account: Account,
  { ledger, calendar, clock, config }: Pick<Services, 'ledger' | 'calendar' | 'clock' | 'config'>,
): Promise<Balance> {
  const at = clock.now()
  return ledger.balance({
    account: account.id,
    at,
    periods: calendar.getPeriods(at),
    limits: getPlan(config, account.plan).pools,
  })
}

/** Start times of the last days in the operator's calendar, ascending. Each is found from noon of the day before, so that no change of clocks skips one. */
function listLastDays({ calendar, clock }: Pick<Services, 'calendar' | 'clock'>, count: number): number[] {
  const days = [calendar.getPeriods(clock.now()).day.start]
  while (days.length < count) days.unshift(calendar.getPeriods((days[0] ?? 0) - dayMs / 2).day.start)
  return days
}

async function listKeyNames(account: string, { membership }: Services): Promise<ReadonlyMap<string, string>> {
  return new Map((await membership.apiKeys.list(account)).map(({ id, name }) => [id, name]))
}

/** `en-CA` formats a date as in ISO 8601. */
function formatDay(startsAt: number, { timeZone }: Pick<Services['config'], 'timeZone'>): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone }).format(startsAt)
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
