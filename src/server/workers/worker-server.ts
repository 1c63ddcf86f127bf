/**
 * The server with several serving threads. This main thread has what a server has once (the store with its writer, mail, background jobs,
 * metrics, signals); workers do everything else. They listen on one port, and the kernel distributes connections among them.
 */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { createProcessBudgetMemory } from '../../access/limits/process-budgets.ts'
import { createLimitMemory } from '../../access/limits/shared-memory.ts'
import type { LimitMemory } from '../../access/limits/shared-memory.ts'
import { createLocalLimits } from '../../access/limits/memory.ts'
import type { GatewayConfig } from '../../config/config.ts'
import { bind } from '../../http/server/bind.ts'
import { listenForMetrics } from '../../http/server/metrics-listener.ts'
import { systemClock, getMonotonicOriginMs } from '../../system/clock.ts'
import { createIds } from '../../system/ids.ts'
import { renderMergedMetrics } from '../../observability/merge-metrics.ts'
import { collectSecrets } from '../../config/secrets.ts'
import { createLog, createStderrLog } from '../../observability/log.ts'
import { Telemetry } from '../../observability/telemetry.ts'
import { BackgroundJobs } from '../background-jobs.ts'
import { createServices, warnAboutUnservedProducts } from '../create-services.ts'
import type { Server } from '../gateway.ts'
import { maxConcurrentHashes, minFlushMs } from '../gateway.ts'
import { warnAboutFileLimit } from '../file-limit.ts'
import { openNotifier } from '../open-notifier.ts'
import { openProcessResources } from '../process-resources.ts'
import { recordServing } from '../record-serving.ts'
import { getNotReadyReasons } from '../../services/readiness.ts'
import { WorkerPool } from './worker-pool.ts'
import { describePlugins } from '../reload/describe-plugins.ts'
import type { ConfigValues } from '../reload/merge-reloaded-config.ts'
import { Reloader } from '../reload/reloader.ts'

interface WorkerServerOptions {
  readonly config: GatewayConfig
  readonly count: number
}

/** @throws ConfigError or OperatorError where it cannot start */
export async function startWorkerServer({ config, count }: WorkerServerOptions): Promise<Server> {
  const clock = systemClock
  const logOutput = createStderrLog()
  const ownLog = createLog(config.log.level, logOutput, undefined, collectSecrets(config))
  const { log } = ownLog
  const ids = createIds()
  await assertPortFree(config.listen)
  // Before the pool exists there is no worker to notify; each worker reads the current state when it starts.
  let reportUnhealthyReason = (_reason: string | null): void => undefined
  const resources = await openProcessResources({
    config,
    clock,
    log,
    ids,
    onHealthChange: (reason) => reportUnhealthyReason(reason),
  })
  const { folder, store, threads, secret, mailer, demo } = resources
  if (threads === null) throw new Error('several threads serve around a file only')
  const telemetry = new Telemetry(ownLog)
  const services = createServices({
    config,
    folder,
    clock,
    ids,
    log,
    telemetry,
    store,
    secret,
    limits: createLocalLimits(),
    imageFiles: null,
    mail: mailer,
    demoUrl: demo?.url ?? null,
    random: Math.random,
    maxConcurrentHashes,
    invalidateElsewhere: (account) => pool.notifyAll('invalidate', account),
  })
  /** The services under the current configuration. */
  let configured = services
  telemetry.connectSources({
    ledger: store.ledger,
    upstreams: services.upstreams,
    limits: services.limits,
    databaseStatus: () => null,
    mailStats: () => mailer.stats,
    countRunningTurns: () => 0,
    monotonicMs: () => clock.monotonicMs(),
    machine: {
      notReadyReasons: (ledger) => getNotReadyReasons(ledger),
      dataDir: config.store.dataDir,
      countNodes: null,
    },
  })
  const combinedMetrics = {
    metricsType: telemetry.metricsType,
    async metricsText() {
      // Waits for the writer, so that its statistics are current.
      const [others] = await Promise.all([pool.collectMetrics(), threads.waitForReply().catch(() => undefined)])
      return renderMergedMetrics([await telemetry.metricsJson(), ...others])
    },
  }
  const pool = new WorkerPool({
    count,
    threads,
    limits: { byAddress: createRandomLimitMemory(), byAccount: createRandomLimitMemory() },
    budgets: createProcessBudgetMemory(count),
    start: {
      config: { values: toConfigValues(config), plugins: describePlugins(config.plugins) },
      secret,
      demoUrl: demo?.url ?? null,
      monotonicOriginMs: getMonotonicOriginMs(),
    },
    clock,
    log,
    onChange: (living, deaths) => telemetry.recordWorkers(living, deaths),
    createHandlers: (worker) => ({
      async notReadyReasons() {
        const { responses, isComplete } = await pool.requestAll('notReadyReasons')
        const own = getNotReadyReasons(store.ledger.stats())
        return [...new Set([...own, ...responses.flat(), ...(isComplete ? [] : ['a worker does not answer'])])]
      },
      metrics: () => combinedMetrics.metricsText(),
      invalidate(account) {
        services.credentials.invalidate(account)
        pool.notifyAll('invalidate', account, worker)
      },
      email: (email) => mailer.enqueue(email),
      mailNote: () => mailer.note,
      log: (some) => logOutput.write(some),
      databaseError: (code) => threads.recordFault(code),
    }),
  })
  reportUnhealthyReason = (reason) => pool.notifyAll('unhealthyReason', reason)
  const release = async (flushTimeoutMs = minFlushMs): Promise<void> => {
    await configured.bodyParser.close()
    await configured.upstreams.close()
    await resources.close(flushTimeoutMs)
    telemetry.close()
  }
  const metrics = await listenForMetrics(config.metrics, combinedMetrics).catch(async (error: unknown) => {
    await release()
    throw error
  })
  const url = await recordServing(folder, () => pool.open(config.listen.port)).catch(async (error: unknown) => {
    await pool.close(0, minFlushMs)
    await metrics?.close()
    await release()
    throw error
  })
  services.origins.site = config.listen.siteUrl ?? url
  services.origins.base = config.listen.baseUrl ?? config.listen.siteUrl ?? url
  warnAboutUnservedProducts(services)
  warnAboutFileLimit(services)
  const notifier = await openNotifier(services, {
    mailer,
    random: Math.random,
    readMetrics: async () => [await telemetry.metricsJson(), ...(await pool.collectMetrics())],
  })
  const jobs = new BackgroundJobs(services, 'server', notifier)
  const reloader = new Reloader({
    config,
    workers: count,
    hasDemo: demo !== null,
    log: ownLog,
    store,
    clock,
    telemetry,
    async apply(next, certificate) {
      const earlier = configured
      configured = earlier.withConfig(next)
      await notifier.reconfigure(next)
      await pool.reconfigure({ values: toConfigValues(next), certificate })
      // No requests run in this thread.
      await earlier.upstreams.close([configured.upstreams])
      warnAboutUnservedProducts(configured, earlier)
    },
  })
  return {
    get services() {
      return configured
    },
    createdLocation: resources.createdLocation,
    url,
    metricsUrl: metrics?.url ?? null,
    demo,
    workers: count,
    reload: (evaluate) => reloader.reload(evaluate),
    get lastReload() {
      return reloader.last
    },
    get lastBackupFailure() {
      return jobs.lastBackupFailure
    },
    async close({ drainMs = config.timeouts.drainMs } = {}) {
      await pool.close(drainMs, minFlushMs)
      await jobs.close()
      await notifier.close()
      await metrics?.close()
      await release()
    },
  }
}

function toConfigValues({ plugins: _plugins, ...values }: GatewayConfig): ConfigValues {
  return values
}

/** Whether the kernel distributes connections among several sockets on one port (SO_REUSEPORT). */
export async function canReusePort(): Promise<boolean> {
  const server = createServer()
  try {
    await bind(server, { host: '127.0.0.1', port: 0, settingName: 'PORT', reusePort: true })
    return true
  } catch {
    return false
  } finally {
    server.close()
  }
}

/**
 * Sockets with SO_REUSEPORT may share a port with those of another server; a socket without it binds only to a free port. So a second
 * server on the same port is refused like any other program.
 */
async function assertPortFree({ host, port }: GatewayConfig['listen']): Promise<void> {
  if (port === 0) return
  const server = createServer()
  await bind(server, { host, port, settingName: 'PORT' })
  await new Promise<void>((resolve) => server.close(() => resolve()))
}

function createRandomLimitMemory(): LimitMemory {
  const bytes = randomBytes(8)
  return createLimitMemory([bytes.readInt32LE(0), bytes.readInt32LE(4)])
}
