/** The concurrent turns of each account: how many may run, which wait, and how others are refused. */
import { GatewayError } from '../../errors.ts'
import { ClientDisconnected, zeroUsage } from '../../exchange/exchange.ts'
import type { Exchange, Slots } from '../../exchange/exchange.ts'
import type { PluginServices } from '../../exchange/plugins/plugin-services.ts'
import type { Clock } from '../../system/clock.ts'
import { systemClock } from '../../system/clock.ts'

export interface ConcurrencyLimiterOptions {
  /** How long a turn may wait for a slot; 0: it is refused at once. */
  readonly maxWaitMs: number
  readonly clock?: Clock
}

interface Waiter {
  readonly limit: number
  readonly admit: () => void
}

/**
 * Counts the running turns of each account in this thread, and queues those above the limit for a short time, in order. The ledger counts the
 * turns of all threads when it reserves a hold.
 */
export class ConcurrencyLimiter {
  readonly maxWaitMs: number
  readonly #clock: Clock
  readonly #running = new Map<string, number>()
  readonly #waiters = new Map<string, Waiter[]>()

  constructor({ maxWaitMs, clock = systemClock }: ConcurrencyLimiterOptions = { maxWaitMs: 0 }) {
    this.maxWaitMs = maxWaitMs
    this.#clock = clock
  }

  /** False if `limit` turns run already, or others wait for a slot. */
  acquire(subject: string, limit: number): boolean {
    const runningCount = this.#running.get(subject) ?? 0
    if (runningCount >= limit || this.#waiters.has(subject)) return false
    this.#running.set(subject, runningCount + 1)
    return true
  }

  /**
   * Waits for a slot; false if `maxWaiting` wait already (as many as may run), or none became free in `maxWaitMs`. Rejects with
   * `ClientDisconnected` when `onDisconnect` calls its listener.
   */
  wait(
    subject: string,
    limit: number,
    onDisconnect: (listener: () => void) => void,
    maxWaiting: number = limit,
  ): Promise<boolean> {
    const waiters = this.#waiters.get(subject) ?? []
    if (this.maxWaitMs === 0 || waiters.length >= maxWaiting) return Promise.resolve(false)
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        timer.cancel()
        const at = waiters.indexOf(waiter)
        if (at !== -1) waiters.splice(at, 1)
        if (waiters.length === 0 && this.#waiters.get(subject) === waiters) this.#waiters.delete(subject)
      }
      const waiter: Waiter = {
        limit,
        admit: () => {
          leave()
          resolve(true)
        },
      }
      const timer = this.#clock.after(this.maxWaitMs, () => {
        leave()
        resolve(false)
      })
      waiters.push(waiter)
      this.#waiters.set(subject, waiters)
      onDisconnect(() => {
        if (!waiters.includes(waiter)) return
        leave()
        reject(new ClientDisconnected(zeroUsage))
      })
    })
  }

  release(subject: string): void {
    const runningCount = (this.#running.get(subject) ?? 1) - 1
    const next = this.#waiters.get(subject)?.[0]
    // The slot passes to the waiter; a plan with fewer slots may have begun meanwhile.
    if (next !== undefined && runningCount < next.limit) return next.admit()
    if (runningCount <= 0) this.#running.delete(subject)
    else this.#running.set(subject, runningCount)
  }

  /** Accounts with running turns. */
  get size(): number {
    return this.#running.size
  }
}

/** How long a turn takes at the least, for the time after which a refused client should retry. */
const minTurnMs = 1_000

/**
 * Refuses a turn because the account runs as many as its plan allows. The request then does not count among those of the minute. Each
 * refused client has its own time to retry: turns are assumed to end one after the other.
 */
export function refuseConcurrency(
  { caller: { account, plan }, parent }: Pick<Exchange, 'parent'> & Pick<Slots, 'caller'>,
  { limits, clock }: Pick<PluginServices, 'limits' | 'clock'>,
): GatewayError {
  const { concurrency } = plan
  const now = clock.monotonicMs()
  if (parent === undefined) limits.byAccount.restore(account.id, plan.rpm, now)
  const time = { earliestMs: minTurnMs, stepMs: (2 * minTurnMs) / concurrency }
  return new GatewayError('rate_limited', {
    retryAfter: Math.round(limits.retryTimes.next(`${account.id} concurrency`, time, now)) / 1000,
    shouldRetry: true,
    message: {
      en: `Your plan runs ${concurrency} requests at once. Please wait for one to finish.`,
      zh: `你的套餐最多同时运行 ${concurrency} 个请求，请等待其中一个完成。`,
    },
  })
}
