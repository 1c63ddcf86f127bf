/** A worker: one thread that serves, with everything of its own but the ledger's writer, the limits, the mail and the log. */
import { parentPort, workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { SharedMemoryRateLimit } from '../../access/limits/shared-memory.ts'
import { ConfigError, loadPlugins } from '../../config/config.ts'
import type { WorkerStore } from '../../store/sqlite/worker-store.ts'
import { openWorkerStore } from '../../store/sqlite/worker-store.ts'
import { createClockFrom } from '../../system/clock.ts'
import { DataFolder } from '../../system/data-folder/data-folder.ts'
import { createIds } from '../../system/ids.ts'
import type { BufferedLog, Log } from '../../observability/log.ts'
import { collectSecrets } from '../../config/secrets.ts'
import { createLog, createBufferedLog } from '../../observability/log.ts'
import { Telemetry } from '../../observability/telemetry.ts'
import { BackgroundJobs } from '../background-jobs.ts'
import { createServices } from '../create-services.ts'
import type { CreatedServices } from '../create-services.ts'
import { openLimits } from '../open-limits.ts'
import { getNotReadyReasons } from '../../services/health/readiness.ts'
import { openPaymentProviders } from '../../payments/open-payment-providers.ts'
import type { WorkerRuntime } from '../worker-runtime.ts'
import { openWorkerRuntime } from '../worker-runtime.ts'
import { describePlugins } from '../reload/describe-plugins.ts'
import type { MainRequests, WorkerRequests, WorkerInit } from './messages.ts'
import { applyWorkerShare, hasLittleMemory } from './worker-count.ts'
import { releaseStartMemory } from '../../system/memory/release-start-memory.ts'
import { WorkerRpc } from './worker-rpc.ts'

if (parentPort === null) throw new Error('this file is started by the server, as a thread')
runWorker(parentPort, workerData as WorkerInit)

function runWorker(port: MessagePort, start: WorkerInit): void {
  let runtime: WorkerRuntime | undefined
  /** A configuration that arrived before this worker served. */
  let applyPending: (() => void) | undefined
  const openedWorker = Promise.withResolvers<OpenedWorker>()
  const main: WorkerRpc<MainRequests, WorkerRequests> = new WorkerRpc<MainRequests, WorkerRequests>(port, {
    async serve(sharedPort) {
      const { services } = await openedWorker.promise
      const operations = {
        notReadyReasons: () => main.request('notReadyReasons', null),
        mailNote: () => main.request('mailNote', null),
        metricsText: () => main.request('metrics', null),
        readFigures: () => main.request('figures', null),
        runDoctor: () => main.request('doctor', null),
        // Installations that share a database serve with one thread per node.
        database: null,
      }
      if (hasLittleMemory()) releaseStartMemory()
      runtime = await openWorkerRuntime(services, { sharedPort, operations })
      applyPending?.()
      return runtime.url
    },
    async reconfigure({ values, certificate }) {
      const { services, ownLog } = await openedWorker.promise
      const config = applyWorkerShare({ ...values, plugins: services.config.plugins }, start.share)
      ownLog.addSecrets(collectSecrets(config))
      applyPending = () => runtime?.reconfigure(config, certificate)
      applyPending()
      return null
    },
    async close({ drainMs, flushMs }) {
      const { services, store, jobs, telemetry, logBuffer } = await openedWorker.promise
      const until = services.clock.monotonicMs() + drainMs
      await runtime?.drain(drainMs)
      await jobs.close()
      await runtime?.release()
      services.limits.distributed?.close()
      // Pending settlements are flushed in the remaining drain time, but at least once.
      await store.close({ flushMs: Math.max(flushMs, until - services.clock.monotonicMs()) })
      telemetry.close()
      logBuffer.flushSync()
      return null
    },
    notReadyReasons: async () => getNotReadyReasons((await openedWorker.promise).store.ledger.stats()),
    ping: () => null,
    metrics: async () => (await openedWorker.promise).telemetry.metricsJson(),
    invalidate: async (account) => (await openedWorker.promise).services.credentials.invalidate(account),
    unhealthyReason: async (reason) => (await openedWorker.promise).store.setUnhealthyReason(reason),
  })
  openWorker(start, main).then(openedWorker.resolve, openedWorker.reject)
  // Each request awaits the same promise and so receives the error.
  openedWorker.promise.catch(() => undefined)
}

interface OpenedWorker {
  readonly services: CreatedServices
  readonly store: WorkerStore
  readonly telemetry: Telemetry
  readonly ownLog: Log
  readonly logBuffer: BufferedLog
  readonly jobs: BackgroundJobs
}

async function openWorker(start: WorkerInit, main: WorkerRpc<MainRequests, WorkerRequests>): Promise<OpenedWorker> {
  const { worker, share } = start
  const plugins = await loadPlugins()
  // A replacement worker must not run other plugins than the workers beside it; its values are theirs.
  if (describePlugins(plugins) !== start.config.plugins)
    throw new ConfigError('The plugins are not what they were when the server started. Restart the server to use them.')
  const config = applyWorkerShare({ ...start.config.values, plugins }, share)
  const logBuffer = createBufferedLog((some) => main.notify('log', some))
  const ownLog = createLog(config.log.level, logBuffer, worker, collectSecrets(config))
  const { log } = ownLog
  process.on('unhandledRejection', (error) => log.fatal({ err: error }, 'unhandled promise rejection'))
  const clock = createClockFrom(start.monotonicOriginMs)
  let { writerPort }: { writerPort: WorkerInit['writerPort'] | undefined } = start
  const store = await openWorkerStore({
    ...start.store,
    async openPort() {
      const port = writerPort ?? (await main.request('writerPort', null))
      writerPort = undefined
      return port
    },
    log,
    onFault: (code) => main.notify('databaseError', code),
  })
  const telemetry = new Telemetry(ownLog)
  const limits = await openLimits(
    { config, store, clock, log },
    {
      shared: {
        byAddress: new SharedMemoryRateLimit(start.limits.byAddress, worker),
        byAccount: new SharedMemoryRateLimit(start.limits.byAccount, worker),
        budgets: start.budgets,
        thread: share.index,
      },
      createRateLimitStore: null,
    },
  )
  const folder = new DataFolder(config.store.dataDir)
  const secret = Buffer.from(start.secret)
  const services = createServices({
    config,
    folder,
    clock,
    ids: createIds(),
    log,
    telemetry,
    store,
    secret,
    limits,
    imageFiles: null,
    mail: {
      enqueue: (email) => main.request('email', email),
      // Background jobs run in the main thread alone.
      deliver: () => Promise.reject(new Error('a serving thread sends no email itself')),
    },
    paymentProviders: await openPaymentProviders(config, { clock, secret, folder }),
    demoUrl: start.demoUrl,
    random: Math.random,
    // Several workers share the thread pool that hashes.
    maxConcurrentHashes: 1,
    invalidateElsewhere: (account) => main.notify('invalidate', account),
  })
  return { services, store, telemetry, ownLog, logBuffer, jobs: new BackgroundJobs(services, 'thread') }
}
