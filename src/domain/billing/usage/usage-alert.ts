/**
 * Usage alerts: emails when a window of a pool is nearly or completely used up, for members who switched them on. Each alert is recorded
 * once, before anything is sent, so that no restart and no second node sends it again.
 */
import type { Account } from '../../identity/account.ts'
import type { Reader } from '../../identity/reader.ts'
import type { PoolBalance } from '../ledger.ts'
import type { Window } from '../catalog/plan.ts'
import type { Pool } from '../catalog/product.ts'

/** In percent of a window's limit. */
export const alertLevels = [80, 100] as const
export type AlertLevel = (typeof alertLevels)[number]

/** What an alert is about. There is at most one of each. */
export interface UsageAlert {
  readonly account: string
  readonly pool: Pool
  readonly window: Window
  /** The end of the window, which a running window keeps whatever happens; so it identifies the window. */
  readonly endsAt: number
  readonly level: AlertLevel
}

export interface ClaimedUsageAlert extends UsageAlert {
  /** The number of this attempt at sending, from 1 on. */
  readonly attempt: number
}

/** A member who switched the alerts on, and whose turns since some instant were counted. */
export interface AlertCandidate {
  readonly account: Account
  /** Number of turns that ended. It changes with each turn, so an unchanged number means that nothing was used. */
  readonly turns: number
}

export interface UsageAlerts {
  /** How the member reads; undefined if they have not switched the alerts on. */
  findSubscriber(account: string): Promise<Reader | undefined>
  /** Switches the alerts on, or changes how the member reads. */
  subscribe(account: string, reader: Reader, at: number): Promise<void>
  unsubscribe(account: string): Promise<void>
  /** Active accounts that switched the alerts on, by id from `after` on. */
  listCandidates(query: {
    readonly since: number
    readonly after: string
    readonly limit: number
  }): Promise<readonly AlertCandidate[]>
  /** Records an alert that is to be sent, unless it is recorded already. One of a higher level replaces those that were not sent. */
  record(alert: UsageAlert, at: number): Promise<void>
  /** Takes a due alert to send it. No one else gets it, and without `end` or `retryAt` it stays taken for ever. */
  claim(now: number): Promise<ClaimedUsageAlert | undefined>
  end(alert: UsageAlert, state: 'sent' | 'dropped'): Promise<void>
  retryAt(alert: UsageAlert, dueAt: number): Promise<void>
  /** Drops unsent alerts whose window is over at `now`, and forgets alerts whose window ended before `forgetBefore`. */
  sweep(now: number, forgetBefore: number): Promise<void>
}

/** The highest level that a window has reached; undefined below the lowest, and for a pool that the plan does not include. */
export function findAlertLevel({ limit, used }: Pick<PoolBalance, 'limit' | 'used'>): AlertLevel | undefined {
  return limit === 0 ? undefined : alertLevels.findLast((level) => used * 100 >= level * limit)
}
