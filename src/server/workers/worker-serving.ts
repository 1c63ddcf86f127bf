/**
 * A server with several serving threads. The main thread has what a server has once (the store with its writer, mail, background jobs,
 * metrics, signals); workers do everything else. They listen on one port, and the kernel distributes connections among them.
 */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { createLocalLimits } from '../../access/limits/memory.ts'
import { createProcessBudgetMemory } from '../../access/limits/process-budgets.ts'
import { createLimitMemory } from '../../access/limits/shared-memory.ts'
import type { LimitMemory } from '../../access/limits/shared-memory.ts'
import type { GatewayConfig } from '../../config/config.ts'
import { bind } from '../../http/server/bind.ts'
import { createStderrLog } from '../../observability/log.ts'
import type { BufferedLog } from '../../observability/log.ts'
import { renderMergedMetrics } from '../../observability/merge-metrics.ts'
import { getNotReadyReasons } from '../../services/health/readiness.ts'
import { getMonotonicOriginMs } from '../../system/clock.ts'
import { createServices, maxConcurrentHashes, setOrigins } from '../create-services.ts'
import { DoctorProcess } from '../console/doctor-process.ts'
import { FigureSampler } from '../console/figure-sampler.ts'
import { describePlugins } from '../reload/describe-plugins.ts'
import type { ConfigValues } from '../reload/merge-reloaded-config.ts'
import { minFlushMs, openServer } from '../server.ts'
import type { Server, ServerParts, ServingThreads } from '../server.ts'
import { WorkerPool } from './worker-pool.ts'

interface WorkerServerOptions {
  readonly config: GatewayConfig
  readonly count: number
}

/** @throws ConfigError or OperatorError where it cannot start */
export async function startWorkerServer({ config, count }: WorkerServerOptions): Promise<Server> {
  await assertPortFree(config.listen)
  const logOutput = createStderrLog()
  return openServer({ config, logDestination: logOutput }, async (parts) => openWorkers(parts, count, logOutput))
}

function openWorkers(parts: ServerParts, count: number, logOutput: BufferedLog): ServingThreads {
  const { config, clock, log, store, secret, telemetry, resources, demoUrl } = parts
  const { threads, mailer } = resources
  if (threads === null) throw new Error('several threads serve around a file only')
  const services = createServices({
    ...parts,
    limits: createLocalLimits(),
    imageFiles: null,
    mail: mailer,
    maxConcurrentHashes,
    invalidateElsewhere: (account) => pool.notifyAll('invalidate', account),
  })
  /** The services under the current configuration. */
  let currentServices = services
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
  const metrics = {
    metricsType: telemetry.metricsType,
    async metricsText() {
      // Waits for the writer, so that its statistics are current.
      const [others] = await Promise.all([pool.collectMetrics(), threads.waitForReply().catch(() => undefined)])
      return renderMergedMetrics([await telemetry.metricsJson(), ...others])
    },
  }
  const readMetrics = async () => [await telemetry.metricsJson(), ...(await pool.collectMetrics())]
  const figures = new FigureSampler(clock, readMetrics)
  const doctor = new DoctorProcess()
  const pool = new WorkerPool({
    count,
    threads,
    limits: { byAddress: createRandomLimitMemory(), byAccount: createRandomLimitMemory() },
    budgets: createProcessBudgetMemory(count),
    start: {
      config: { values: toConfigValues(config), plugins: describePlugins(config.plugins) },
      secret,
      demoUrl,
      monotonicOriginMs: getMonotonicOriginMs(),
    },
    clock,
    log,
    onChange: (living, deaths) => telemetry.recordWorkers(living, deaths),
    createHandlers: (worker) => ({
      async notReadyReasons() {
        const { responses, isComplete } = await pool.requestAll('notReadyReasons')
        const ownReasons = getNotReadyReasons(store.ledger.stats())
        return [...new Set([...ownReasons, ...responses.flat(), ...(isComplete ? [] : ['a worker does not answer'])])]
      },
      metrics: () => metrics.metricsText(),
      figures: () => figures.read(),
      doctor: () => doctor.run(),
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
  resources.onHealthChange((reason) => pool.notifyAll('unhealthyReason', reason))
  let isDrained = false
  const drain = async (drainMs: number): Promise<void> => {
    isDrained = true
    await pool.close(drainMs, minFlushMs)
  }
  return {
    count,
    get services() {
      return currentServices
    },
    metrics,
    readMetrics,
    async listen() {
      const url = await pool.open(config.listen.port)
      setOrigins(services, url)
      return url
    },
    async reconfigure(next, certificate) {
      const earlierServices = currentServices
      currentServices = earlierServices.withConfig(next)
      await pool.reconfigure({ values: toConfigValues(next), certificate })
      // No requests run in this thread.
      await earlierServices.upstreams.close([currentServices.upstreams])
    },
    drain,
    async release() {
      figures.close()
      if (!isDrained) await drain(0)
      await currentServices.bodyParser.close()
      await currentServices.upstreams.close()
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
