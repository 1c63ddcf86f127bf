/** Metrics and log of the service; exchanges are recorded shortly after their end. */
import { systemClock } from '../system/clock.ts'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Logger } from 'pino'
import type { Limits } from '../access/limits/limits.ts'
import type { GatewayError } from '../errors.ts'
import type { Exchange, Outcome, Slots } from '../exchange/exchange.ts'
import { findDifferingSections } from '../domain/config-fingerprint.ts'
import type { DatabaseStatus } from '../domain/database-status.ts'
import { emailResults } from '../mail/email-results.ts'
import type { EmailResult, MailStats } from '../mail/email-results.ts'
import type { Ledger } from '../domain/billing/ledger.ts'
import type { UngrantedOrders } from '../domain/billing/orders/order.ts'
import type { WaitingDeletions } from '../domain/identity/account-deletion.ts'
import type { Upstreams } from '../upstream/target/upstreams.ts'
import { none } from './ended-exchange.ts'
import type { EndedExchange } from './ended-exchange.ts'
import { ExchangeLog } from './exchange-log.ts'
import type { MetricsJson } from './merge-metrics.ts'
import type { Log } from './log.ts'
import { MachineCollector } from './machine-metrics.ts'
import type { MachineSources } from './machine-metrics.ts'
import { createMetrics } from './metrics.ts'
import type { Metrics } from './metrics.ts'
import type { NotificationOutcome } from './notification-metrics.ts'
import { TurnMetrics } from './turn-metrics.ts'

/** Sources read at a scrape. */
interface MetricSources {
  readonly ledger: Ledger
  readonly upstreams: Upstreams
  readonly limits: Pick<Limits, 'distributed'>
  /** Last status of the shared database; null if unknown or without one. */
  readonly databaseStatus: () => DatabaseStatus | null
  /** Null in a thread that sends no emails itself. */
  readonly mailStats: (() => MailStats) | null
  /** Turns whose upstream is being called. */
  readonly countRunningTurns: () => number
  readonly monotonicMs: () => number
  readonly machine: MachineSources
}

/** The response to a request that runs no turn. */
interface RequestOutcome {
  readonly endpoint: string
  readonly status: number
  readonly errorCode: string | undefined
  /** The client's network, as limits count it. */
  readonly address: string
}

const breakerGaugeValues = { closed: 0, half_open: 1, open: 2 } as const
/** Outcome of turns whose hold was released without them. */
const expiredLabel = 'expired'
const maxPathChars = 200

export class Telemetry {
  readonly #log: Logger
  readonly #exchangeLog: ExchangeLog
  readonly #metrics: Metrics = createMetrics()
  readonly #machine = new MachineCollector(this.#metrics.machine)
  readonly #eventLoopDelay = monitorEventLoopDelay({ resolution: 20 })
  #sources: MetricSources | null = null
  readonly #turns: TurnMetrics
  /** Calls to targets since the last scrape, by target and outcome. */
  readonly #attempts = new Map<string, Map<string, number>>()
  #reported = { commits: 0, operations: 0, fsyncs: 0, cpu: 0, workerDeaths: 0, rateLimitFallback: 0, releasedHolds: 0 }
  readonly #reportedEmails: Partial<Record<EmailResult, number>> = {}
  #ended: EndedExchange[] = []

  constructor(own: Log) {
    this.#log = own.log
    this.#exchangeLog = new ExchangeLog(own)
    this.#turns = new TurnMetrics(this.#metrics, own.log)
    // Runs before the log's own exit listener, however the process ends.
    process.prependListener('exit', this.#flush)
    this.#eventLoopDelay.enable()
    this.#metrics.startTime.set(systemClock.now() / 1000 - process.uptime())
    this.#metrics.mismatches.set(0)
    this.#metrics.configReloadSuccessful.set(1)
    this.#metrics.workers.set(1)
    this.#metrics.configReloadTime.remove()
    this.#metrics.backupAgeSeconds.remove()
    this.#metrics.backupIntervalSeconds.remove()
    this.#metrics.backupBytes.remove()
  }

  /** Connects the sources, which are created after this. */
  connectSources(sources: MetricSources): void {
    this.#sources = sources
  }

  /** Recorded in a batch with the other exchanges of this event loop turn, after their responses have left: one by one costs twice as much. */
  recordExchange(x: Exchange & Partial<Slots>, outcome: Outcome): void {
    const endedMonotonicMs = this.#sources?.monotonicMs() ?? x.startedMonotonicMs
    if (this.#ended.push({ x, outcome, endedMonotonicMs }) === 1) setImmediate(this.#flush)
  }

  /** Counts a request for an unsupported path. `label` is one of a bounded list; the path itself is only logged. */
  recordUnknownPath({ id, inbound: { method, path } }: Pick<Exchange, 'id' | 'inbound'>, label: string): void {
    this.#metrics.unknownPaths.inc({ path: label })
    this.#log.info({ requestId: id, method, path: path.slice(0, maxPathChars) }, 'unknown path')
  }

  /** A request of a membership or OAuth endpoint. `endpoint` is its path with placeholders: the path itself may hold a secret. */
  recordRequest(
    { id, inbound: { method } }: Pick<Exchange, 'id' | 'inbound'>,
    { endpoint, status, errorCode, address }: RequestOutcome,
  ): void {
    this.#metrics.requests.inc({ endpoint, status })
    const facts = { requestId: id, kind: 'membership', method, endpoint, status, errorCode, address }
    if (status >= 400) this.#log.info(facts, 'request failed')
    else this.#log.debug(facts, 'request')
  }

  recordRefusedConnection(limit: 'total' | 'address'): void {
    this.#metrics.refusedConnections.inc({ limit })
  }

  /** A bug or a failed part of the service; its message is for the log alone. */
  recordInternalError(x: Pick<Exchange, 'id' | 'inbound'>, failure: GatewayError): void {
    this.#metrics.internalErrors.inc()
    this.#log.error({ requestId: x.id, path: x.inbound.path, err: failure.cause ?? failure }, 'internal error')
  }

  recordPluginError(x: Exchange, plugin: string, hook: string, error: unknown): void {
    this.#metrics.pluginErrors.inc({ plugin, hook })
    this.#log.error({ requestId: x.id, plugin, hook, err: error }, 'a plugin hook failed')
  }

  recordUpstreamAttempt(target: string, outcome: string): void {
    let outcomes = this.#attempts.get(target)
    if (outcomes === undefined) {
      outcomes = new Map()
      this.#attempts.set(target, outcomes)
    }
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }

  /** The result of the last ledger check in this process. */
  recordLedgerCheck(mismatches: number): void {
    this.#metrics.mismatches.set(mismatches)
    if (mismatches > 0) this.#log.fatal({ mismatches }, 'the ledger has mismatches; run: svc-gateway ledger verify')
  }

  /** Orders whose money was seen and that are not granted. */
  recordUngrantedOrders({ count, oldestPaidAt }: UngrantedOrders, now: number): void {
    this.#metrics.ungrantedOrders.set(count)
    this.#metrics.oldestUngrantedOrderSeconds.set(oldestPaidAt === null ? 0 : Math.max(0, now - oldestPaidAt) / 1000)
  }

  /** Deletions of accounts that wait for a payment provider. */
  recordWaitingDeletions({ oldestRequestedAt }: WaitingDeletions, now: number): void {
    this.#metrics.oldestWaitingDeletionSeconds.set(oldestRequestedAt === null ? 0 : Math.max(0, now - oldestRequestedAt) / 1000)
  }

  recordReload(isAccepted: boolean, at: number): void {
    this.#metrics.configReloads.inc({ outcome: isAccepted ? 'accepted' : 'refused' })
    this.#metrics.configReloadSuccessful.set(isAccepted ? 1 : 0)
    if (isAccepted) this.#metrics.configReloadTime.set(at / 1000)
  }

  /** The certificate chain that is served from now on, PEM. */
  recordCertificate(certificate: string | Uint8Array): void {
    this.#machine.recordCertificate(certificate)
  }

  /** Age and size of the newest backup; no size without one. */
  recordBackup({
    ageMs,
    bytes,
    everyMs,
  }: {
    readonly ageMs: number
    readonly bytes: number | null
    readonly everyMs: number
  }): void {
    this.#metrics.backupIntervalSeconds.set(everyMs / 1000)
    this.#metrics.backupAgeSeconds.set(ageMs / 1000)
    if (bytes === null) this.#metrics.backupBytes.remove()
    else this.#metrics.backupBytes.set(bytes)
  }

  recordBackupFailure(): void {
    this.#metrics.backupFailures.inc()
  }

  recordNotification(receiver: string, outcome: NotificationOutcome, count = 1): void {
    this.#metrics.notifications.inc({ receiver, outcome }, count)
  }

  /** The state of all receivers, and the kinds of open incidents. */
  recordNotificationState(
    receivers: readonly { readonly name: string; readonly waiting: number; readonly isOff: boolean }[],
    incidents: readonly string[],
  ): void {
    const { notificationsWaiting, notificationReceiverOff, incidentsOpen } = this.#metrics
    for (const gauge of [notificationsWaiting, notificationReceiverOff, incidentsOpen]) gauge.reset()
    for (const { name: receiver, waiting, isOff } of receivers) {
      notificationsWaiting.set({ receiver }, waiting)
      notificationReceiverOff.set({ receiver }, isOff ? 1 : 0)
    }
    for (const kind of incidents) incidentsOpen.inc({ kind })
  }

  get metricsType(): string {
    return this.#metrics.registry.contentType
  }

  async metricsText(): Promise<string> {
    await this.#collectAll()
    return this.#metrics.registry.metrics()
  }

  /** The metrics as JSON, to be merged with other threads'. */
  async metricsJson(): Promise<MetricsJson> {
    await this.#collectAll()
    return this.#metrics.registry.getMetricsAsJSON()
  }

  /** Number of serving threads, and of deaths so far. */
  recordWorkers(living: number, deaths: number): void {
    this.#metrics.workers.set(living)
    this.#metrics.workerDeaths.inc(deaths - this.#reported.workerDeaths)
    this.#reported.workerDeaths = deaths
  }

  close(): void {
    this.#flush()
    process.off('exit', this.#flush)
    this.#eventLoopDelay.disable()
  }

  readonly #flush = (): void => {
    const endedExchanges = this.#ended
    this.#ended = []
    const time = new Date(systemClock.now()).toISOString()
    for (const exchange of endedExchanges) this.#record(exchange, time)
  }

  #record(ended: EndedExchange, time: string): void {
    const { x, outcome } = ended
    const code = outcome.kind === 'failed' ? outcome.failure.code : none
    if (x.kind === 'turn') this.#turns.record(ended, code)
    else this.#metrics.unmetered.inc({ outcome: outcome.kind, code })
    if (outcome.kind === 'failed' && outcome.failure.code === 'internal_error') this.recordInternalError(x, outcome.failure)
    this.#exchangeLog.write(ended, code, time)
  }

  async #collectAll(): Promise<void> {
    if (this.#sources !== null) await this.#machine.collectDisk(this.#sources.machine)
    this.#flush()
    this.#collect()
  }

  #collect(): void {
    const metrics = this.#metrics
    this.#turns.collect()
    for (const [target, outcomes] of this.#attempts) {
      for (const [outcome, count] of outcomes) metrics.attempts.inc({ target, outcome }, count)
      outcomes.clear()
    }
    const { user, system } = process.cpuUsage()
    const cpu = (user + system) / 1e6
    metrics.cpu.inc(Math.max(0, cpu - this.#reported.cpu))
    this.#reported.cpu = cpu
    metrics.memory.set(process.memoryUsage.rss())
    for (const share of [50, 90, 99, 100]) {
      // The runtime's histogram includes its timer's period; the rest is the delay.
      const delaySeconds = Math.max(0, this.#eventLoopDelay.percentile(share) / 1e9 - 0.02)
      if (Number.isFinite(delaySeconds)) metrics.eventLoopDelay.observe(delaySeconds)
    }
    this.#eventLoopDelay.reset()
    if (this.#sources === null) return
    const { ledger, upstreams, limits, databaseStatus, mailStats, countRunningTurns, monotonicMs, machine } = this.#sources
    metrics.running.set(countRunningTurns())
    for (const { name, limiter } of upstreams.all) {
      metrics.callsRunning.set({ upstream: name }, limiter.running)
      metrics.callsWaiting.set({ upstream: name }, limiter.pending)
    }
    // Anew, because a target that is taken out may have no breaker, and none is left when it is back.
    metrics.takenOut.reset()
    for (const { target, state } of upstreams.breakerStates(monotonicMs())) {
      metrics.breaker.set({ target }, breakerGaugeValues[state])
      metrics.takenOut.set({ target }, 0)
    }
    for (const target of upstreams.takenOut.list(monotonicMs())) metrics.takenOut.set({ target }, 1)
    if (limits.distributed === null) metrics.rateLimitStoreUp.remove()
    else {
      const { unavailableSince, fallbacks } = limits.distributed.stats
      metrics.rateLimitStoreUp.set(unavailableSince === null ? 1 : 0)
      metrics.rateLimitFallback.inc(fallbacks - this.#reported.rateLimitFallback)
      this.#reported.rateLimitFallback = fallbacks
    }
    this.#collectDatabase(databaseStatus())
    if (mailStats !== null) this.#collectMail(mailStats())
    const vitals = ledger.stats()
    this.#machine.collect(machine, vitals)
    metrics.holdsOpen.set(vitals.holdsOpen)
    metrics.writerQueue.set(vitals.queue)
    metrics.pendingSettlements.set(vitals.pendingSettlements)
    metrics.oldestPendingSettlementSeconds.set(
      vitals.pendingSince === null ? 0 : Math.max(0, systemClock.now() - vitals.pendingSince) / 1000,
    )
    metrics.commits.inc(vitals.commits - this.#reported.commits)
    metrics.operations.inc(vitals.operations - this.#reported.operations)
    metrics.fsyncs.inc(vitals.syncs - this.#reported.fsyncs)
    // Turns of dead processes and threads, which no exchange can record any more, and those whose lease has ended.
    const releasedCount = vitals.releasedHolds - this.#reported.releasedHolds
    if (releasedCount > 0) {
      metrics.turns.inc({ product: none, outcome: expiredLabel, code: none, api_format: none }, releasedCount)
      metrics.refunds.inc({ code: expiredLabel }, releasedCount)
    }
    this.#reported = {
      ...this.#reported,
      commits: vitals.commits,
      operations: vitals.operations,
      fsyncs: vitals.syncs,
      releasedHolds: vitals.releasedHolds,
    }
    for (const seconds of vitals.commitSeconds) metrics.commitSeconds.observe(seconds)
    for (const seconds of vitals.flushSeconds) metrics.flushSeconds.observe(seconds)
  }

  #collectMail({ results, waiting, oldestWaitingSeconds }: MailStats): void {
    for (const outcome of emailResults) {
      this.#metrics.emails.inc({ outcome }, results[outcome] - (this.#reportedEmails[outcome] ?? 0))
      this.#reportedEmails[outcome] = results[outcome]
    }
    this.#metrics.emailsWaiting.set(waiting)
    this.#metrics.oldestWaitingEmailSeconds.set(oldestWaitingSeconds)
  }

  /** An unknown value has no sample: 0 would raise an alarm, and the previous value would be wrong. */
  #collectDatabase(status: DatabaseStatus | null): void {
    const { connectionsAvailable, standbys, configDifferences } = this.#metrics
    if (status === null) configDifferences.remove()
    else configDifferences.set(findDifferingSections(status.configurations.map(({ fingerprint }) => fingerprint)).length)
    if (status === null) connectionsAvailable.remove()
    else connectionsAvailable.set(status.connections.available)
    if (status === null || status.standbys === null) standbys.remove()
    else standbys.set(status.standbys.synchronous)
  }
}
