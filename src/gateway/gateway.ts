/**
 * The gateway as one object: built from a checked configuration, opened, closed. `main.ts` runs it, tests and commands build it the
 * same way, so that what is tested is what runs. Here one thread serves; `workers/gateway.ts` has the one where several do.
 */
import type { GatewayConfig } from '../config/config.ts'
import { Chores } from './chores.ts'
import { systemClock } from '../system/clock.ts'
import type { Clock } from '../system/clock.ts'
import type { DemoUpstream } from '../upstream/demo/upstream.ts'
import { listenForMetrics } from '../http/metrics-listener.ts'
import { createLimits } from '../access/limits/memory.ts'
import { openLimits } from '../access/limits/open.ts'
import { createLog } from '../system/observe/log.ts'
import { Observe } from '../system/observe/observe.ts'
import { createIds } from '../system/ids.ts'
import { createServices, sayWhatIsMissing } from './create-services.ts'
import { openCommonParts, sayWhatIsNotAllowed } from './common-parts.ts'
import { DatabaseLook } from './database-look.ts'
import { reasonsAgainst } from './readiness.ts'
import type { Services } from './services.ts'
import type { Serving } from './serving.ts'
import { openServing } from './serving.ts'

export interface GatewayOptions {
  readonly config: GatewayConfig
  readonly clock?: Clock
  /** Where log lines go; standard error by default. */
  readonly logTo?: { write(line: string): void }
  /** 0 ≤ n < 1, for choosing among targets. */
  readonly random?: () => number
}

/** The server, however many of its threads serve. */
export interface Server {
  readonly services: Services
  /** The folder of an installation that began with this start; null where there was one. */
  readonly begunIn: string | null
  /** Where it listens, as in `http://127.0.0.1:8787`. */
  readonly url: string
  /** Where the metrics have a listener of their own. */
  readonly metricsUrl: string | null
  readonly demo: DemoUpstream | null
  /** Threads that serve. */
  readonly workers: number
  /** Not ready any more; running turns finish, within the drain time; the rest end with an error and a refund. */
  close(options?: { readonly drainMs?: number }): Promise<void>
}

export interface Gateway extends Server {
  readonly forwarder: Serving['forwarder']
}

export const leastOwedMs = 500
/** Hashing takes a core's time: two at once leave the others to the service. */
export const hashesAtOnce = 2

export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, clock = systemClock, logTo, random = Math.random } = options
  const ownLog = createLog(config.log.level, logTo)
  const { log } = ownLog
  const ids = createIds()
  const common = await openCommonParts({ config, clock, log, ids })
  const { folder, store, secret, mailRoom, demo } = common
  const observe = new Observe(ownLog)
  const demoUrl = demo?.url ?? null
  const parts = { config, folder, clock, ids, log, observe, store, secret, demoUrl, random, hashesAtOnce }
  const limits = await openLimits({
    url: config.limits.url,
    slug: config.brand.slug,
    own: createLimits(),
    shared: common.limitBook,
    nodes: () => store.cluster?.nodes() ?? 1,
    clock,
    log,
  })
  const services = createServices({ ...parts, limits, imageFiles: common.imageFiles, mail: mailRoom })
  const release = async (owedMs = leastOwedMs): Promise<void> => {
    limits.elsewhere?.close()
    await common.close(owedMs)
    observe.close()
  }
  const giveUp = async (error: unknown): Promise<never> => {
    await release()
    throw error
  }
  const metrics = await listenForMetrics(config.metrics, observe).catch(giveUp)
  const operations = {
    reasons: () => reasonsAgainst(store.ledger.vitals(), services.credentials.silentMs),
    metricsText: () => observe.metricsText(),
    database: store.cluster && new DatabaseLook(store.cluster, clock),
  }
  const serving = await openServing(services, { operations }).catch(async (error: unknown) => {
    await metrics?.close()
    return giveUp(error)
  })
  sayWhatIsMissing(services)
  sayWhatIsNotAllowed(services)
  const chores = new Chores(services)
  return {
    services,
    begunIn: common.begunIn,
    url: serving.url,
    metricsUrl: metrics?.url ?? null,
    demo,
    workers: 1,
    forwarder: serving.forwarder,
    async close({ drainMs = config.timeouts.drainMs } = {}) {
      const until = clock.ticks() + drainMs
      await serving.drain(drainMs)
      await chores.close()
      await metrics?.close()
      await serving.release()
      // What is owed has what is left of the time, and where that is used up a last try.
      await release(Math.max(leastOwedMs, until - clock.ticks()))
    },
  }
}
