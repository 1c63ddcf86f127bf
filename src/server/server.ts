/**
 * The composition root: opens a server from a checked configuration, in one order for every number of serving threads, and closes it.
 * What serves is a part of it: `serving-thread.ts` (this thread) or `workers/worker-serving.ts` (threads of their own, each of which
 * `workers/worker-thread.ts` makes of the same services and the same runtime).
 */
import type { GatewayConfig } from '../config/config.ts'
import { collectSecrets } from '../config/secrets.ts'
import { startDemoUpstream } from '../demo-upstream/server.ts'
import type { DemoUpstream } from '../demo-upstream/server.ts'
import type { CertificatePair } from '../http/server/listen.ts'
import { listenForMetrics } from '../http/server/metrics-listener.ts'
import type { Notifier } from '../notifications/notifier.ts'
import { createLog } from '../observability/log.ts'
import type { MetricsJson } from '../observability/merge-metrics.ts'
import { Telemetry } from '../observability/telemetry.ts'
import type { Services } from '../services/services.ts'
import { systemClock } from '../system/clock.ts'
import type { Clock } from '../system/clock.ts'
import { createIds } from '../system/ids.ts'
import { BackgroundJobs } from './background-jobs.ts'
import type { BackupFailure } from './backup-job.ts'
import { warnAboutUnservedProducts } from './create-services.ts'
import type { CreatedServices, ProcessParts } from './create-services.ts'
import { warnAboutFileLimit } from './file-limit.ts'
import { openNotifier } from './open-notifier.ts'
import { openProcessResources } from './process-resources.ts'
import type { ProcessResources } from './process-resources.ts'
import { recordServing } from './record-serving.ts'
import type { EvaluatedConfig } from './reload/merge-reloaded-config.ts'
import { Reloader } from './reload/reloader.ts'
import type { ReloadRecord, ReloadReport } from './reload/reloader.ts'

export interface ServerOptions {
  readonly config: GatewayConfig
  readonly clock?: Clock
  /** Destination of log lines; standard error by default. */
  readonly logDestination?: { write(line: string): void }
  /** Random number, 0 ≤ n < 1, for choosing among targets. */
  readonly random?: () => number
  /** Starts what stands for the upstream `demo`; the demonstration by default. */
  readonly startDemo?: (clock: Clock) => Promise<DemoUpstream>
}

/** A running server, with one serving thread or several. */
export interface Server<Threads extends ServingThreads = ServingThreads> {
  readonly services: Services
  readonly threads: Threads
  readonly notifier: Notifier
  /** The data folder or database that this start created; null where it existed. */
  readonly createdLocation: string | null
  /** The address it listens on, as in `http://127.0.0.1:8787`. */
  readonly url: string
  /** The address of the separate metrics listener; null without one. */
  readonly metricsUrl: string | null
  readonly demo: DemoUpstream | null
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

/** What a server has once, whatever serves. */
export interface ServerParts extends ProcessParts {
  readonly resources: ProcessResources
}

/** What serves the requests of a server. */
export interface ServingThreads {
  readonly count: number
  /** The services under the current configuration. */
  readonly services: CreatedServices
  /** What the metrics listener serves. */
  readonly metrics: Pick<Telemetry, 'metricsText' | 'metricsType'>
  /** The metrics of this thread and of all that serve. */
  readMetrics(): Promise<readonly MetricsJson[]>
  /** Accepts requests; resolves with the address. */
  listen(): Promise<string>
  reconfigure(config: GatewayConfig, certificate: CertificatePair | null): Promise<void>
  /** Refuses new turns. Running ones may finish within the time; the rest end with an error and a refund. */
  drain(drainMs: number): Promise<void>
  /** Releases everything except the resources of the process, also where it never listened. */
  release(): Promise<void>
}

export const minFlushMs = 500

/** @throws ConfigError or OperatorError where it cannot start */
export async function openServer<Threads extends ServingThreads>(
  { config, clock = systemClock, logDestination, random = Math.random, startDemo = startDemoUpstream }: ServerOptions,
  openThreads: (parts: ServerParts) => Promise<Threads>,
): Promise<Server<Threads>> {
  const ownLog = createLog(config.log.level, logDestination, undefined, collectSecrets(config))
  const { log } = ownLog
  const ids = createIds()
  const resources = await openProcessResources({ config, clock, log, ids, startDemo })
  const { folder, store, secret, mailer, demo, paymentProviders } = resources
  const telemetry = new Telemetry(ownLog)
  /** What to release, the last opened first. */
  const releases: (() => Promise<unknown> | undefined)[] = []
  const release = async (flushTimeoutMs = minFlushMs): Promise<void> => {
    for (const one of releases.toReversed()) await one()
    await resources.close(flushTimeoutMs)
    telemetry.close()
  }
  const open = async () => {
    const demoUrl = demo?.url ?? null
    const parts = {
      config,
      folder,
      clock,
      ids,
      log,
      telemetry,
      store,
      secret,
      paymentProviders,
      demoUrl,
      random,
      resources,
    }
    const servingThreads = await openThreads(parts)
    releases.push(() => servingThreads.release())
    const metrics = await listenForMetrics(config.metrics, servingThreads.metrics)
    releases.push(() => metrics?.close())
    return { serving: servingThreads, metrics, url: await recordServing(folder, () => servingThreads.listen()) }
  }
  const { serving, metrics, url } = await open().catch(async (error: unknown) => {
    await release()
    throw error
  })
  const { services } = serving
  warnAboutUnservedProducts(services)
  warnAboutFileLimit(services)
  const notifier = await openNotifier(services, { mailer, random, readMetrics: () => serving.readMetrics() })
  const jobs = new BackgroundJobs(services, 'server', notifier, () => serving.services.config.site)
  const reloader = new Reloader({
    config,
    workers: serving.count,
    hasDemo: demo !== null,
    log: ownLog,
    store,
    clock,
    telemetry,
    async apply(next, certificate) {
      const earlierServices = serving.services
      await serving.reconfigure(next, certificate)
      await notifier.reconfigure(next)
      warnAboutUnservedProducts(serving.services, earlierServices)
    },
  })
  return {
    get services() {
      return serving.services
    },
    threads: serving,
    notifier,
    createdLocation: resources.createdLocation,
    url,
    metricsUrl: metrics?.url ?? null,
    demo,
    reload: (evaluate) => reloader.reload(evaluate),
    get lastReload() {
      return reloader.last
    },
    get lastBackupFailure() {
      return jobs.lastBackupFailure
    },
    async close({ drainMs = config.timeouts.drainMs } = {}) {
      const deadlineMonotonicMs = clock.monotonicMs() + drainMs
      await serving.drain(drainMs)
      await jobs.close()
      await notifier.close()
      // Pending settlements are flushed in the remaining drain time, but at least once.
      await release(Math.max(minFlushMs, deadlineMonotonicMs - clock.monotonicMs()))
    },
  }
}
