/** `GET usage`: pools, boosts, the last turns, and the last thirty days. */
import type { AnswerOf } from '../../../api/endpoint.ts'
import { showUsage } from '../../../api/membership/usage.ts'
import { maskEmail } from '../../../membership/audit.ts'
import { instant } from '../../../membership/instant.ts'
import type { Period } from '../../../membership/period.ts'
import { planFor } from '../../../membership/plan.ts'
import type { Pool } from '../../../membership/product.ts'
import { toUsageBoosts, toUsagePools, toUsageTurn } from '../../../membership/usage.ts'
import type { UsedDay } from '../../../membership/usage.ts'
import type { Services } from '../../../gateway/services.ts'
import type { Serve } from '../../serve.ts'
import { balanceOf } from './balance.ts'

const turnsShown = 50
const daysShown = 30
const dayMs = 86_400_000

export function usageRoutes(serve: Serve, services: Services): void {
  const { ledger, config, store } = services

  serve(showUsage, async ({ member: { account } }) => {
    const plan = planFor(config, account.plan)
    const balance = await balanceOf(account, services)
    const turns = await ledger.turns({ account: account.id, limit: turnsShown })
    const days = lastDays(services)
    const used = await store.days.since(account.id, days[0] ?? 0)
    return {
      account: { id: account.id, email_masked: maskEmail(account.email), plan: plan.id },
      plan: plan.id,
      plan_until: instant(account.planUntil),
      plan_name: plan.name,
      pools: toUsagePools(balance),
      boosts: toUsageBoosts(balance),
      turns: turns.map(toUsageTurn),
      days: days.map((startsAt) => toDay(startsAt, used, services)),
    }
  })
}

/** The first instants of the last days in the operator's calendar, today's last. Asked at noon before, so that no change of clocks skips one. */
function lastDays({ calendar, clock }: Pick<Services, 'calendar' | 'clock'>): number[] {
  const days = [calendar.at(clock.now()).day.start]
  while (days.length < daysShown) days.unshift(calendar.at((days[0] ?? 0) - dayMs / 2).day.start)
  return days
}

function toDay(
  startsAt: number,
  days: readonly UsedDay[],
  { calendar, clock, config }: Pick<Services, 'calendar' | 'clock' | 'config'>,
): AnswerOf<typeof showUsage>['days'][number] {
  const { day } = calendar.at(startsAt)
  const now = clock.now()
  // A day that was opened in another time zone is shown where the middle of it is; one that has just begun is today's.
  const isIn = ({ start, end }: Period): boolean => {
    const middle = Math.min((start + end) / 2, now)
    return day.start <= middle && middle < day.end
  }
  const used = (pool: Pool): number =>
    days.reduce((sum, one) => (one.pool === pool && isIn(one.period) ? sum + one.used : sum), 0)
  // `en-CA` writes a date as ISO does.
  const date = new Intl.DateTimeFormat('en-CA', { timeZone: config.timeZone }).format(startsAt)
  return { day: date, fast: used('fast'), premium: used('premium') }
}
