/**
 * The gateway as one object: opened from a checked configuration, then closed. The server, tests and commands all open it here, so that
 * tests run what production runs. It serves with one thread; `workers/worker-server.ts` serves with several.
 */
import type { GatewayConfig } from '../config/config.ts'
import { BackgroundJobs } from './background-jobs.ts'
import type { BackupFailure } from './backup-job.ts'
import { systemClock } from '../system/clock.ts'
import type { Clock } from '../system/clock.ts'
import type { DemoUpstream } from '../demo-upstream/server.ts'
import { listenForMetrics } from '../http/server/metrics-listener.ts'
import { createLocalLimits } from '../access/limits/memory.ts'
import { createLimits } from '../access/limits/create-limits.ts'
import { collectSecrets } from '../config/secrets.ts'
import { createLog } from '../observability/log.ts'
import type { Notifier } from '../notifications/notifier.ts'
import { Telemetry } from '../observability/telemetry.ts'
import { createIds } from '../system/ids.ts'
import { createServices, getBodyBudgetBounds, warnAboutUnservedProducts } from './create-services.ts'
import { warnAboutFileLimit } from './file-limit.ts'
import { openNotifier } from './open-notifier.ts'
import { openProcessResources } from './process-resources.ts'
import { recordServing } from './record-serving.ts'
import { DatabaseProbe } from '../services/database-probe.ts'
import { getNotReadyReasons } from '../services/readiness.ts'
import type { Services } from '../services/services.ts'
import type { WorkerRuntime } from './worker-runtime.ts'
import { openWorkerRuntime } from './worker-runtime.ts'
import type { EvaluatedConfig } from './reload/merge-reloaded-config.ts'
import { Reloader } from './reload/reloader.ts'
import type { ReloadRecord, ReloadReport } from './reload/reloader.ts'

export interface GatewayOptions {
  readonly config: GatewayConfig
  readonly clock?: Clock
  /** Destination of log lines; standard error by default. */
  readonly logDestination?: { write(line: string): void }
  /** Random number, 0 ≤ n < 1, for choosing among targets. */
  readonly random?: () => number
}

/** A running server, with one serving thread or several. */
export interface Server {
  readonly services: Services
  /** The data folder or database that this start created; null where it existed. */
  readonly createdLocation: string | null
  /** The address it listens on, as in `http://127.0.0.1:8787`. */
  readonly url: string
  /** The address of the separate metrics listener; null without one. */
  readonly metricsUrl: string | null
  readonly demo: DemoUpstream | null
  /** The number of serving threads. */
  readonly workers: number
  /**
   * Reads the configuration again for new requests. One that `svc-gateway check` refuses changes nothing.
   * @param evaluate returns the configuration; by default the file is evaluated in a process of its own
   */
  reload(evaluate?: () => Promise<EvaluatedConfig>): Promise<ReloadReport>
  /** Null before the first reload. */
  readonly lastReload: ReloadRecord | null
  /** Null when the last backup on schedule has not failed. */
  readonly lastBackupFailure: BackupFailure | null
  /** Becomes not ready. Running turns may finish within the drain time; the rest end with an error and a refund. */
  close(options?: { readonly drainMs?: number }): Promise<void>
}

export interface Gateway extends Server {
  readonly notifier: Notifier
  readonly forwarder: WorkerRuntime['forwarder']
  /** The configurations under which requests are running. */
  readonly configurations: number
}

export const minFlushMs = 500
/** Hashing occupies a core: two at once leave the others to the service. */
export const maxConcurrentHashes = 2

export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, clock = systemClock, logDestination, random = Math.random } = options
  const ownLog = createLog(config.log.level, logDestination, undefined, collectSecrets(config))
  const { log } = ownLog
  const ids = createIds()
  const resources = await openProcessResources({ config, clock, log, ids })
  const { folder, store, secret, mailer, demo } = resources
  const telemetry = new Telemetry(ownLog)
  const limits = await createLimits({
    url: config.limits.url,
    slug: config.brand.slug,
    local: createLocalLimits({ maxWaitMs: config.limits.concurrencyWaitMs, bodies: getBodyBudgetBounds(config.limits), clock }),
    createSharedStore: resources.createRateLimitStore,
    nodes: () => store.cluster?.countNodes() ?? 1,
    clock,
    log,
  })
  const services = createServices({
    config,
    folder,
    clock,
    ids,
    log,
    telemetry,
    store,
    secret,
    limits,
    imageFiles: resources.imageFiles,
    mail: mailer,
    demoUrl: demo?.url ?? null,
    random,
    maxConcurrentHashes,
  })
  const release = async (flushTimeoutMs = minFlushMs): Promise<void> => {
    limits.distributed?.close()
    await resources.close(flushTimeoutMs)
    telemetry.close()
  }
  const abortStart = async (error: unknown): Promise<never> => {
    await release()
    throw error
  }
  const metrics = await listenForMetrics(config.metrics, telemetry).catch(abortStart)
  const operations = {
    notReadyReasons: () => getNotReadyReasons(store.ledger.stats(), services.credentials.databaseSilentMs),
    mailNote: () => mailer.note,
    metricsText: () => telemetry.metricsText(),
    database: store.cluster && new DatabaseProbe(store.cluster, clock),
  }
  const runtime = await recordServing(folder, () =>
    openWorkerRuntime(services, { operations, mailStats: () => mailer.stats }),
  ).catch(async (error: unknown) => {
    await metrics?.close()
    return abortStart(error)
  })
  warnAboutUnservedProducts(services)
  warnAboutFileLimit(services)
  const notifier = await openNotifier(services, { mailer, random, readMetrics: async () => [await telemetry.metricsJson()] })
  const jobs = new BackgroundJobs(services, 'server', notifier)
  const reloader = new Reloader({
    config,
    workers: 1,
    hasDemo: demo !== null,
    log: ownLog,
    store,
    clock,
    telemetry,
    async apply(next, certificate) {
      const earlier = runtime.services
      runtime.reconfigure(next, certificate)
      await notifier.reconfigure(next)
      warnAboutUnservedProducts(runtime.services, earlier)
    },
  })
  return {
    get services() {
      return runtime.services
    },
    createdLocation: resources.createdLocation,
    url: runtime.url,
    metricsUrl: metrics?.url ?? null,
    demo,
    workers: 1,
    notifier,
    get forwarder() {
      return runtime.forwarder
    },
    get configurations() {
      return runtime.configurations
    },
    reload: (evaluate) => reloader.reload(evaluate),
    get lastReload() {
      return reloader.last
    },
    get lastBackupFailure() {
      return jobs.lastBackupFailure
    },
    async close({ drainMs = config.timeouts.drainMs } = {}) {
      const deadlineMonotonicMs = clock.monotonicMs() + drainMs
      await runtime.drain(drainMs)
      await jobs.close()
      await notifier.close()
      await metrics?.close()
      await runtime.release()
      // Pending settlements are flushed in the remaining drain time, but at least once.
      await release(Math.max(minFlushMs, deadlineMonotonicMs - clock.monotonicMs()))
    },
  }
}
