/** What the API and the pages read about a member's usage. */
import type { Balance } from '../domain/billing/ledger.ts'
import { resolvePlan } from '../domain/billing/subscriptions/terms.ts'
import { groupUsage } from '../domain/billing/usage/usage-history.ts'
import type { Account } from '../domain/identity/account.ts'
import type { Services } from './services.ts'

const dayMs = 86_400_000
/** The span of a key's usage. */
const keyUsageDays = 30

interface KeyUsage {
  readonly turns: number
  readonly credits: number
}

/** The usage of each API key in the last 30 days, by the key's id; keys without any are missing. */
export async function readKeyUsage(
  account: string,
  { store, clock }: Pick<Services, 'store' | 'clock'>,
): Promise<ReadonlyMap<string, KeyUsage>> {
  const usage = new Map<string, KeyUsage>()
  for (const { credential, turns, credits } of await store.usageSums.listSince(account, clock.now() - keyUsageDays * dayMs)) {
    const { turns: earlierTurns, credits: earlierCredits } = usage.get(credential) ?? unusedKey
    usage.set(credential, { turns: earlierTurns + turns, credits: earlierCredits + credits })
  }
  return usage
}

export const unusedKey: KeyUsage = { turns: 0, credits: 0 }

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
    limits: resolvePlan(config, account).pools,
  })
}

/** Start times of the last days in the operator's calendar, ascending. Each is found from noon of the day before, so that no change of clocks skips one. */
export function listLastDays({ calendar, clock }: Pick<Services, 'calendar' | 'clock'>, count: number): number[] {
  const days = [calendar.getPeriods(clock.now()).day.start]
  while (days.length < count) days.unshift(calendar.getPeriods((days[0] ?? 0) - dayMs / 2).day.start)
  return days
}

/** What usage is grouped by. */
export const usageDimensions = ['tier', 'model', 'key', 'api_format'] as const

interface HistoryQuery {
  readonly days: number
  readonly by: (typeof usageDimensions)[number]
}

export type UsageHistory = Awaited<ReturnType<typeof readUsageHistory>>

/** Usage of the last days, grouped. */
export async function readUsageHistory(
  account: string,
  { days: count, by }: HistoryQuery,
  services: Pick<Services, 'calendar' | 'clock' | 'config' | 'membership' | 'store'>,
) {
  const days = listLastDays(services, count)
  const sums = await services.store.usageSums.listSince(account, days[0] ?? 0)
  const names = by === 'key' ? await listKeyNames(account, services) : new Map<string, string>()
  return { ...groupUsage(sums, days, by, names), days: days.map((startsAt) => formatDay(startsAt, services.config)), by }
}

async function listKeyNames(account: string, { membership }: Pick<Services, 'membership'>): Promise<ReadonlyMap<string, string>> {
  return new Map((await membership.apiKeys.list(account)).map(({ id, name }) => [id, name]))
}

/** `en-CA` formats a date as in ISO 8601. */
export function formatDay(startsAt: number, { timeZone }: Pick<Services['config'], 'timeZone'>): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone }).format(startsAt)
}
