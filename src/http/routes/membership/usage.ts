/** `GET usage`: pools, boosts, the last turns, and the last thirty days. */
import type { Router } from '@koa/router'
import type { Balance } from '../../../membership/ledger.ts'
import { maskEmail } from '../../../membership/audit.ts'
import { toUsageBoosts, toUsagePools, toUsageTurn } from '../../../membership/usage.ts'
import type { UsedDay } from '../../../membership/usage.ts'
import type { Services } from '../../../services.ts'
import type { House } from '../../house.ts'
import { balanceOf } from './balance.ts'
import { mount } from './mount.ts'
import { requireSession } from './visitor.ts'

const turnsShown = 50
const daysShown = 30
const dayMs = 86_400_000

export function usageRoutes(router: Router, { services }: House): void {
  const { ledger, config, store } = services

  mount(router, 'get', '/usage', async (ctx) => {
    const { account } = await requireSession(ctx, services)
    const balance = await balanceOf(account, services)
    const turns = await ledger.turns({ account: account.id, limit: turnsShown })
    const days = lastDays(services)
    const past = await store.days.before(account.id, days[0] ?? 0, days.at(-1) ?? 0)
    return {
      account: { id: account.id, email_masked: maskEmail(account.email), plan: account.plan },
      plan: account.plan,
      plan_name: config.plans[account.plan]?.name ?? account.plan,
      pools: toUsagePools(balance),
      boosts: toUsageBoosts(balance),
      turns: turns.map((turn) => ({ ...toUsageTurn(turn), account: undefined })),
      days: days.map((startsAt) => toDayRecord(startsAt, past, balance, services)),
    }
  })
}

/** The first instants of the last days in the operator's calendar, today's last. Asked at noon before, so that no change of clocks skips one. */
function lastDays({ calendar, clock }: Pick<Services, 'calendar' | 'clock'>): number[] {
  const days = [calendar.at(clock.now()).day.start]
  while (days.length < daysShown) days.unshift(calendar.at((days[0] ?? 0) - dayMs / 2).day.start)
  return days
}

function toDayRecord(
  startsAt: number,
  past: readonly UsedDay[],
  { pools }: Balance,
  { calendar, clock, config }: Pick<Services, 'calendar' | 'clock' | 'config'>,
): Record<string, unknown> {
  const isToday = calendar.at(clock.now()).day.start === startsAt
  const used = (pool: 'fast' | 'premium'): number =>
    isToday
      ? (pools.find((balance) => balance.pool === pool && balance.window === 'day')?.used ?? 0)
      : (past.find((day) => day.pool === pool && day.startsAt === startsAt)?.used ?? 0)
  // `en-CA` writes a date as ISO does.
  const day = new Intl.DateTimeFormat('en-CA', { timeZone: config.timeZone }).format(startsAt)
  return { day, fast: used('fast'), premium: used('premium') }
}
