/**
 * Sends usage alerts. A periodic job looks for windows that reached a level and records them, then sends what is due; turns are not
 * involved. An alert is taken before it is sent and ended afterwards, so a crash in between costs this email and never sends a second one.
 */
import { windows } from '../billing/catalog/plan.ts'
import { resolvePlan } from '../billing/subscriptions/terms.ts'
import type { Plans } from '../billing/catalog/plan.ts'
import type { Balance, Ledger, PoolBalance } from '../billing/ledger.ts'
import type { Calendar } from '../billing/period.ts'
import type { Pool } from '../billing/catalog/product.ts'
import { createUnsubscribeToken, parseUnsubscribeToken } from '../billing/email-link-token.ts'
import { findAlertLevel } from '../billing/usage/usage-alert.ts'
import type { ClaimedUsageAlert } from '../billing/usage/usage-alert.ts'
import type { Account } from '../identity/account.ts'
import type { Reader } from '../identity/reader.ts'
import type { Store } from '../store.ts'
import type { BoostService } from './boost-service.ts'
import type { DeliveryOutcome, MemberMailer, UsageAlertFacts } from '../member-mailer.ts'

interface UsageAlertDeps {
  readonly store: Pick<Store, 'accounts' | 'usageAlerts'>
  readonly ledger: Pick<Ledger, 'balance'>
  readonly boosts: Pick<BoostService, 'listAvailable'>
  readonly mailer: Pick<MemberMailer, 'deliverUsageAlert'>
  readonly plans: Plans
  readonly calendar: Calendar
  readonly clock: { now(): number }
  readonly secret: Uint8Array
}

const minuteMs = 60_000
/** Turns count by when they began. Longer than any turn, and than a node without jobs. */
const lookBackMs = 6 * 60 * minuteMs
/** Longer than the longest window, so that no window is forgotten while a clock that stepped back could reach it again. */
const keepMs = 62 * 24 * 60 * minuteMs
const pageSize = 500
const maxPauseMs = 60 * minuteMs

export class UsageAlertService {
  readonly #deps: UsageAlertDeps
  /** The number of turns of each account when its balance was last read; an account without new turns is not read again. */
  #turnsRead: ReadonlyMap<string, number> = new Map()

  constructor(deps: UsageAlertDeps) {
    this.#deps = deps
  }

  async isSubscribed(account: string): Promise<boolean> {
    return (await this.#deps.store.usageAlerts.findSubscriber(account)) !== undefined
  }

  /** @param reader who gets the emails: they are written in this language and zone */
  async setSubscribed(account: string, isWanted: boolean, reader: Reader): Promise<void> {
    const { store, clock } = this.#deps
    if (isWanted) await store.usageAlerts.subscribe(account, reader, clock.now())
    else await store.usageAlerts.unsubscribe(account)
  }

  isUnsubscribeToken(token: string): boolean {
    return parseUnsubscribeToken(this.#deps.secret, token) !== undefined
  }

  /** False if the token is not valid. */
  async unsubscribe(token: string): Promise<boolean> {
    const { secret, store } = this.#deps
    const account = parseUnsubscribeToken(secret, token)
    if (account !== undefined) await store.usageAlerts.unsubscribe(account)
    return account !== undefined
  }

  /** Records the alerts of windows that reached a level, and sends all that are due until `signal` aborts. */
  async sendDue(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps
    await store.usageAlerts.sweep(clock.now(), clock.now() - keepMs)
    await this.#recordNew(signal)
    while (!signal.aborted) {
      const alert = await store.usageAlerts.claim(clock.now())
      if (alert === undefined) return
      // A mail server that is down is left alone until the next run.
      if ((await this.#send(alert, signal)) === 'unavailable') return
    }
  }

  async #recordNew(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps
    const since = clock.now() - lookBackMs
    const turnsRead = new Map<string, number>()
    for (let after = ''; ;) {
      const page = await store.usageAlerts.listCandidates({ since, after, limit: pageSize })
      for (const { account, turns } of page) {
        if (signal.aborted) return
        if (turns === 0) continue
        if (this.#turnsRead.get(account.id) !== turns) await this.#recordLevels(account)
        turnsRead.set(account.id, turns)
      }
      const last = page.at(-1)
      if (last === undefined || page.length < pageSize) break
      after = last.account.id
    }
    this.#turnsRead = turnsRead
  }

  async #recordLevels(account: Account): Promise<void> {
    const { store, clock } = this.#deps
    const { pools } = await this.#readBalance(account)
    for (const bucket of pools) {
      const level = findAlertLevel(bucket)
      if (level === undefined) continue
      const { pool, window, resetsAt: endsAt } = bucket
      await store.usageAlerts.record({ account: account.id, pool, window, endsAt, level }, clock.now())
    }
  }

  async #send(alert: ClaimedUsageAlert, signal: AbortSignal): Promise<DeliveryOutcome | 'dropped'> {
    const { store, mailer, clock } = this.#deps
    const account = await store.accounts.find(alert.account)
    const reader = await store.usageAlerts.findSubscriber(alert.account)
    const facts = account === undefined ? undefined : await this.#readFacts(account, alert)
    if (account?.email == null || account.status !== 'active' || reader === undefined || facts === undefined) {
      await store.usageAlerts.end(alert, 'dropped')
      return 'dropped'
    }
    const outcome = await mailer.deliverUsageAlert({ to: account.email, reader }, facts, signal)
    if (outcome === 'unavailable') await store.usageAlerts.retryAt(alert, clock.now() + toPauseMs(alert.attempt))
    else await store.usageAlerts.end(alert, outcome === 'rejected' ? 'dropped' : 'sent')
    return outcome
  }

  /** Undefined if the alert is no longer true: the window is over, or a larger plan has room in it. */
  async #readFacts(account: Account, alert: ClaimedUsageAlert): Promise<UsageAlertFacts | undefined> {
    const balance = await this.#readBalance(account)
    const bucket = balance.pools.find(
      ({ pool, window, resetsAt }) => pool === alert.pool && window === alert.window && resetsAt === alert.endsAt,
    )
    if (bucket === undefined || (findAlertLevel(bucket) ?? 0) < alert.level) return undefined
    const { pool, window, used, limit, resetsAt } = bucket
    const boosts = await this.#deps.boosts.listAvailable(account)
    return {
      pool,
      window,
      level: alert.level,
      used,
      limit,
      resetsAt,
      inPacks: sumPacks(balance, pool),
      availableBoost: Math.max(0, ...boosts.map((boost) => (boost.pool === pool ? boost.credits : 0))),
      otherPoolHasRoom: hasRoom(balance.pools.filter((other) => other.pool !== pool)),
      canUpgrade: Object.values(this.#deps.plans.plans).some((plan) => plan.pools[pool][window] > limit),
      unsubscribeToken: createUnsubscribeToken(this.#deps.secret, account.id),
    }
  }

  #readBalance(account: Account): Promise<Balance> {
    const { ledger, clock, calendar, plans } = this.#deps
    const at = clock.now()
    return ledger.balance({
      account: account.id,
      at,
      periods: calendar.getPeriods(at),
      limits: resolvePlan(plans, account).pools,
    })
  }
}

function sumPacks({ packs }: Balance, pool: Pool): number {
  const ofPool = packs.filter((pack) => pack.pool === pool)
  return ofPool.reduce((sum, { granted, reserved, settled }) => sum + Math.max(0, granted - reserved - settled), 0)
}

function hasRoom(buckets: readonly PoolBalance[]): boolean {
  return buckets.length === windows.length && buckets.every(({ remaining }) => remaining > 0)
}

/** 1, 2, 4 … minutes, and an hour at most. */
function toPauseMs(attempt: number): number {
  return Math.min(maxPauseMs, 2 ** Math.min(attempt - 1, 10) * minuteMs)
}
