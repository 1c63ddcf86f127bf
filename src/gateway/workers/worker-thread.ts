/** A worker: one thread that serves, with everything of its own but the ledger's writer, the limits, the mail and the log. */
import { parentPort, workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { ConcurrencyLimiter } from '../../access/limits/running.ts'
import { openLimits } from '../../access/limits/open.ts'
import { SharedRateLimiter } from '../../access/limits/shared.ts'
import { ConfigError, loadConfig } from '../../config/config.ts'
import type { ThreadStore } from '../../store/sqlite/thread-store.ts'
import { openThreadStore } from '../../store/sqlite/thread-store.ts'
import { clockFrom } from '../../system/clock.ts'
import { DataFolder } from '../../system/data-folder.ts'
import { createIds } from '../../system/ids.ts'
import type { Gathered } from '../../system/observe/log.ts'
import { createLog, gathering } from '../../system/observe/log.ts'
import { Observe } from '../../system/observe/observe.ts'
import { Chores } from '../chores.ts'
import { createServices } from '../create-services.ts'
import type { MadeServices } from '../create-services.ts'
import { reasonsAgainst } from '../readiness.ts'
import type { Serving } from '../serving.ts'
import { openServing } from '../serving.ts'
import { configLine } from './messages.ts'
import type { FromFirst, FromWorker, WorkerStart } from './messages.ts'
import { shareOf } from './share.ts'
import { Wire } from './wire.ts'

if (parentPort === null) throw new Error('this file is started by the server, as a thread')
work(parentPort, workerData as WorkerStart)

function work(port: MessagePort, start: WorkerStart): void {
  let serving: Serving | undefined
  const opened = Promise.withResolvers<Opened>()
  const first: Wire<FromFirst, FromWorker> = new Wire<FromFirst, FromWorker>(port, {
    async serve(sharedPort) {
      const { services } = await opened.promise
      const operations = {
        reasons: () => first.ask('reasons', null),
        metricsText: () => first.ask('metrics', null),
        // Nodes that share one serve with one thread.
        database: null,
      }
      serving = await openServing(services, { sharedPort, operations })
      return serving.url
    },
    async close({ drainMs, owedMs }) {
      const { services, store, chores, observe, lines } = await opened.promise
      const until = services.clock.ticks() + drainMs
      await serving?.drain(drainMs)
      await chores.close()
      await serving?.release()
      services.limits.elsewhere?.close()
      // What is owed has what is left of the time, and where that is used up a last try.
      await store.close({ owedMs: Math.max(owedMs, until - services.clock.ticks()) })
      observe.close()
      lines.flushSync()
      return null
    },
    reasons: async () => reasonsAgainst((await opened.promise).store.ledger.vitals()),
    metrics: async () => (await opened.promise).observe.metricsJson(),
    forget: async (account) => (await opened.promise).services.credentials.heardOf(account),
    trouble: async (trouble) => (await opened.promise).store.told(trouble),
  })
  open(start, first).then(opened.resolve, opened.reject)
  // Whoever asks hears of it.
  opened.promise.catch(() => undefined)
}

interface Opened {
  readonly services: MadeServices
  readonly store: ThreadStore
  readonly observe: Observe
  readonly lines: Gathered
  readonly chores: Chores
}

async function open(start: WorkerStart, first: Wire<FromFirst, FromWorker>): Promise<Opened> {
  const { worker, share } = start
  const shared = await loadConfig()
  // A replaced worker must not sell at other prices than those beside it.
  if (configLine(shared) !== start.config)
    throw new ConfigError('The configuration is not what it was when the server started. Restart the server to use it.')
  const config = shareOf(shared, share)
  const lines = gathering((some) => first.tell('log', some))
  const ownLog = createLog(config.log.level, lines, worker)
  const { log } = ownLog
  process.on('unhandledRejection', (error) => log.fatal({ err: error }, 'a promise was left to fail'))
  const clock = clockFrom(start.ticksOrigin)
  let { line }: { line: WorkerStart['line'] | undefined } = start
  const store = await openThreadStore({
    ...start.store,
    async line() {
      const given = line ?? (await first.ask('line', null))
      line = undefined
      return given
    },
    log,
    onFault: (code) => first.tell('fault', code),
  })
  const observe = new Observe(ownLog)
  const limits = await openLimits({
    url: config.limits.url,
    slug: config.brand.slug,
    own: {
      byAddress: new SharedRateLimiter(start.limits.byAddress, worker),
      byAccount: new SharedRateLimiter(start.limits.byAccount, worker),
      running: new ConcurrencyLimiter(),
      elsewhere: null,
    },
    shared: null,
    nodes: () => store.cluster?.nodes() ?? 1,
    clock,
    log,
  })
  const services = createServices({
    config,
    folder: new DataFolder(config.store.dataDir),
    clock,
    ids: createIds(),
    log,
    observe,
    store,
    secret: Buffer.from(start.secret),
    limits,
    imageFiles: null,
    mail: { post: (letter) => first.ask('letter', letter) },
    demoUrl: start.demoUrl,
    random: Math.random,
    // Several workers share the threads that hash.
    hashesAtOnce: 1,
    forget: (account) => first.tell('forget', account),
  })
  return { services, store, observe, lines, chores: new Chores(services, 'thread') }
}
