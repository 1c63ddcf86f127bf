/** Periodic jobs: expire overdue holds, follow the targets that operators take out, prune old turns, write last-used times, pay boosts, check orders, collect turns for operators, send usage alerts, emails about plans and notifications, complete deletions, delete expired records, write backups. */
import type { Services } from '../services/services.ts'
import type { Notifier } from '../notifications/notifier.ts'
import { followTakenOutTargets } from '../services/routing/target-routing.ts'
import { verifyBooks } from '../domain/services/orders/verify-books.ts'
import type { OrderServicePort } from '../domain/services/orders/order-service-port.ts'
import { BackupJob } from './backup-job.ts'
import type { BackupFailure } from './backup-job.ts'
import { ThrottledLog } from '../mail/throttled-log.ts'
import type { Timer } from '../system/clock.ts'
import { ClockGuard } from './clock-guard.ts'

const followTargetsEveryMs = 2_000
const expireEveryMs = 2_500
const flushEveryMs = 15_000
const payBoostsEveryMs = 2_000
const checkOrdersEveryMs = 5_000
const tidyMembershipEveryMs = 60_000
const sendAlertsEveryMs = 60_000
const announceEveryMs = 600_000
const sendPurchaseMailEveryMs = 2_000
const deleteAccountsEveryMs = 60_000
const cleanUpEveryMs = 600_000
const verifyEveryMs = 3_600_000
const checkBackupEveryMs = 60_000
const observeEveryMs = 15_000
const deliverEveryMs = 2_000
const collectTurnsEveryMs = 2_000
const dayMs = 86_400_000
/** Turns per pass. More than ever ran at once, because a turn is pruned only together with the turns its account ended before it. */
const maxTurnsPerPass = 50_000

export class BackgroundJobs {
  readonly #services: Services
  readonly #timers: Timer[]
  readonly #running = new Set<Promise<void>>()
  /** Aborts long jobs, so that a shutdown does not wait for them. */
  readonly #closing = new AbortController()
  readonly #clockGuard: ClockGuard
  readonly #throttledLog: ThrottledLog
  #backupJob: BackupJob | null = null

  /** @param scope `server`: all jobs; `thread`: only those that each serving thread runs for itself */
  constructor(
    services: Services,
    scope: 'server' | 'thread' = 'server',
    notifier: Notifier | null = null,
    /** Of the current configuration, after a reload too. */
    readSite: () => Services['config']['site'] = () => services.config.site,
  ) {
    this.#services = services
    this.#clockGuard = new ClockGuard(services)
    this.#throttledLog = new ThrottledLog(services.log, services.clock, 'failures')
    const { ledger, clock, credentials, config, telemetry, membership, orders } = services
    this.#timers = [
      this.#every(expireEveryMs, 'expire holds', async () => {
        const expiredCount = await ledger.expire(clock.now(), clock.monotonicMs())
        if (expiredCount > 0) services.log.warn({ expired: expiredCount }, 'expired holds of dead or lost turns were released')
      }),
      this.#every(flushEveryMs, 'write key uses', () => credentials.flushLastUsed()),
      // A key revoked by another process is refused here within this interval.
      this.#every(credentials.pollIntervalMs, 'follow changes', () => credentials.pollChanges()),
      // What an operator takes out at another node is left out here within this interval.
      this.#every(followTargetsEveryMs, 'follow targets', () => followTakenOutTargets(services)),
    ]
    if (scope === 'thread') return
    this.#timers.push(
      this.#everyOncePerCluster(payBoostsEveryMs, 'pay boosts', async () => {
        await membership.boosts.payInvites()
        await membership.boosts.deliverOverdue()
      }),
      this.#everyOncePerCluster(payBoostsEveryMs, 'end plans', async () => void (await membership.subscriptions.advanceDue())),
      this.#everyOncePerCluster(tidyMembershipEveryMs, 'tidy membership', () => membership.deleteExpired()),
      this.#everyOncePerCluster(sendAlertsEveryMs, 'send usage alerts', () =>
        membership.usageAlerts.sendDue(this.#closing.signal),
      ),
      this.#everyOncePerCluster(announceEveryMs, 'announce ends of plans', () =>
        membership.purchaseMail.recordDue(this.#closing.signal),
      ),
      this.#everyOncePerCluster(sendPurchaseMailEveryMs, 'send emails about purchases', () =>
        membership.purchaseMail.sendDue(this.#closing.signal),
      ),
      this.#everyOncePerCluster(deleteAccountsEveryMs, 'complete deletions', () =>
        membership.deletions.sweep(this.#closing.signal),
      ),
      // On every node, so that no node reports what it saw when it last had the job above.
      this.#every(observeEveryMs, 'count deletions', async () =>
        telemetry.recordWaitingDeletions(await services.store.accountDeletions.summarize(), clock.now()),
      ),
      this.#everyOncePerCluster(cleanUpEveryMs, 'forget old turns', async () => {
        const before = clock.now() - config.store.keepTurnsForDays * dayMs
        const { signal } = this.#closing
        while (!signal.aborted && (await ledger.pruneTurns(before, maxTurnsPerPass, signal)) > 0);
      }),
      this.#everyOncePerCluster(collectTurnsEveryMs, 'collect turns', async () => {
        // Without a page of the status, and before a role exists or a link was made, there is no reader.
        if (readSite().status || (await membership.consoleSessions.isOpen()))
          await membership.turnHistory.collect(config.store.keepTurnsForDays, { clock, signal: this.#closing.signal })
      }),
      this.#everyOncePerCluster(cleanUpEveryMs, 'clean up images', () => services.images.cleanUp()),
      this.#everyOncePerCluster(verifyEveryMs, 'verify the ledger', async () => {
        const { mismatches } = await verifyBooks(services.store, this.#closing.signal)
        telemetry.recordLedgerCheck(mismatches.length)
        notifier?.recordLedgerCheck(mismatches.length)
      }),
    )
    if (notifier !== null) this.#timers.push(...this.#createNotificationJobs(notifier))
    if (orders !== null) this.#timers.push(...this.#createOrderJobs(orders))
    if (config.backup === null) return
    const backupJob = (this.#backupJob = new BackupJob({ settings: config.backup, dataDir: config.store.dataDir, services }))
    this.#timers.push(this.#everyOncePerCluster(checkBackupEveryMs, 'back up', () => backupJob.run(this.#closing.signal)))
  }

  #createOrderJobs(orders: OrderServicePort): Timer[] {
    const { store, telemetry, clock } = this.#services
    return [
      this.#everyOncePerCluster(checkOrdersEveryMs, 'check orders', () => orders.sweep(this.#closing.signal)),
      // On every node, so that no node reports what it saw when it last had the job above.
      this.#every(observeEveryMs, 'count paid orders', async () =>
        telemetry.recordUngrantedOrders(await store.orders.countUngranted(), clock.now()),
      ),
    ]
  }

  #createNotificationJobs(notifier: Notifier): Timer[] {
    const hasReceivers = (): boolean => notifier.hasReceivers
    return [
      this.#every(observeEveryMs, 'observe this node', () => notifier.observe()),
      this.#everyOncePerCluster(observeEveryMs, 'review incidents', () => notifier.review(), hasReceivers),
      this.#everyOncePerCluster(
        deliverEveryMs,
        'deliver notifications',
        () => notifier.deliver(this.#closing.signal),
        hasReceivers,
      ),
      this.#everyOncePerCluster(cleanUpEveryMs, 'tidy notifications', () => notifier.prune()),
    ]
  }

  /** Null when the last backup on schedule has not failed. */
  get lastBackupFailure(): BackupFailure | null {
    return this.#backupJob?.lastFailure ?? null
  }

  /** Stops the timers and waits for running jobs. */
  async close(): Promise<void> {
    for (const timer of this.#timers) timer.cancel()
    this.#closing.abort()
    await Promise.all(this.#running)
    await this.#services.credentials.flushLastUsed().catch(() => undefined)
  }

  /**
   * Runs a job on one of the nodes that share a database. These jobs end and delete data by the time of day, so they need a trusted
   * clock: a lease is only for nodes whose clock agrees with the database's, and on SQLite `ClockGuard` decides.
   */
  #everyOncePerCluster(ms: number, name: string, job: () => Promise<void>, isNeeded: () => boolean = () => true): Timer {
    const { cluster } = this.#services.store
    return this.#every(ms, name, async () => {
      if (!isNeeded()) return
      if (await (cluster === null ? this.#clockGuard.isTrusted() : cluster.acquireJobLease(name, ms))) await job()
    })
  }

  #every(ms: number, name: string, job: () => Promise<void>): Timer {
    const { store, clock } = this.#services
    let busy = false
    const start = (): void => {
      if (busy) return
      busy = true
      const run = job()
        .then(
          () => store.cluster?.recordJobResult(name),
          (error: unknown) => {
            if (error === this.#closing.signal.reason) return
            store.cluster?.recordJobResult(name, error)
            // Some jobs run every two seconds, and a full disk or a lost database lasts.
            this.#throttledLog.write(
              'error',
              { job: name, err: error },
              `the background job "${name}" failed; it will be retried`,
            )
          },
        )
        .finally(() => {
          busy = false
          this.#running.delete(run)
        })
      this.#running.add(run)
    }
    return clock.every(ms, start).unref()
  }
}
