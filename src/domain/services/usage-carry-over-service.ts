/**
 * Plan pools belong to the person. A member who deletes the account and returns, or returns with another address of the same mailbox,
 * continues with their usage of the current periods.
 */
import type { Account } from '../identity/account.ts'
import type { Balance, Ledger } from '../billing/ledger.ts'
import type { Calendar, Periods } from '../billing/period.ts'
import type { CarriedUsage, UsageCarryOver } from '../billing/usage/carried-usage.ts'
import { windows } from '../billing/catalog/plan.ts'
import type { PoolLimits, Window } from '../billing/catalog/plan.ts'
import type { Pool } from '../billing/catalog/product.ts'
import type { Store } from '../store.ts'
import type { Mailboxes } from './mailboxes.ts'

interface UsageCarryOverDeps {
  readonly store: Pick<Store, 'carriedUsage'>
  readonly ledger: Pick<Ledger, 'balance' | 'openWithUsage'>
  readonly calendar: Calendar
  readonly clock: { now(): number }
  readonly mailboxes: Mailboxes
}

const noLimits: PoolLimits = { day: 0, week: 0, month: 0 }
const pools = ['fast', 'premium'] as const satisfies readonly Pool[]

export class UsageCarryOverService {
  readonly #deps: UsageCarryOverDeps

  constructor(deps: UsageCarryOverDeps) {
    this.#deps = deps
  }

  /** Read when the account is erased. Holds of running turns count as used, because the account will not see them end. */
  async exportUsage({ id, email }: Account): Promise<UsageCarryOver | null> {
    if (email === null) return null
    const { clock, calendar, mailboxes } = this.#deps
    const periods = calendar.getPeriods(clock.now())
    const usage = toCarriedUsage(await this.#balance(id, periods), periods).filter(({ used }) => used > 0)
    return { person: mailboxes.hashPerson(email), usage }
  }

  /** Opens a new account's balances with its person's usage: from deleted accounts and from other addresses. */
  async importUsage({ id, email }: Account): Promise<void> {
    if (email === null) return
    const { store, ledger, clock, calendar, mailboxes } = this.#deps
    const at = clock.now()
    const periods = calendar.getPeriods(at)
    const others = await mailboxes.listOfPerson(email)
    const otherBalances = await Promise.all(
      others.filter((account) => account.id !== id).map((account) => this.#balance(account.id, periods)),
    )
    // A later account began with the usage of the one before, so the maximum is the total.
    const carriedUsage = [
      ...(await store.carriedUsage.find(mailboxes.hashPerson(email))),
      ...otherBalances.flatMap((balance) => toCarriedUsage(balance, periods)),
    ]
    const findMostUsed = (pool: Pool, window: Window): number =>
      carriedUsage
        .filter((use) => use.pool === pool && use.window === window && use.endsAt > at)
        .reduce((most, use) => Math.max(most, use.used), 0)
    for (const pool of pools) {
      const use = { day: findMostUsed(pool, 'day'), week: findMostUsed(pool, 'week'), month: findMostUsed(pool, 'month') }
      if (windows.some((window) => use[window] > 0)) await ledger.openWithUsage({ account: id, pool, at, periods, used: use })
    }
  }

  #balance(account: string, periods: Periods): Promise<Balance> {
    const { ledger, clock } = this.#deps
    // Usage is the same under any plan.
    return ledger.balance({ account, at: clock.now(), periods, limits: { fast: noLimits, premium: noLimits } })
  }
}

function toCarriedUsage({ pools: balances }: Balance, periods: Periods): CarriedUsage[] {
  // A period opened under another time zone keeps its end.
  return balances.map(({ pool, window, used, reserved, resetsAt }) => {
    return { pool, window, startsAt: periods[window].start, endsAt: resetsAt, used: used + reserved }
  })
}
