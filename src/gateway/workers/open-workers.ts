/**
 * The server where several threads serve: this one, the first, has what a server has once (the store with its writer, mail, chores, metrics,
 * signals), and the workers everything else. They share a port, which the system shares out among them.
 */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { limitMemory } from '../../access/limits/shared.ts'
import type { LimitMemory } from '../../access/limits/shared.ts'
import { createLimits } from '../../access/limits/memory.ts'
import type { GatewayConfig } from '../../config/config.ts'
import { bind } from '../../http/bind.ts'
import { listenForMetrics } from '../../http/metrics-listener.ts'
import { systemClock, ticksOrigin } from '../../system/clock.ts'
import { createIds } from '../../system/ids.ts'
import { textOf } from '../../system/observe/joined.ts'
import { createLog, standardError } from '../../system/observe/log.ts'
import { Observe } from '../../system/observe/observe.ts'
import { Chores } from '../chores.ts'
import { createServices, sayWhatIsMissing } from '../create-services.ts'
import type { Server } from '../gateway.ts'
import { hashesAtOnce, leastOwedMs } from '../gateway.ts'
import { openCommonParts, sayWhatIsNotAllowed } from '../common-parts.ts'
import { reasonsAgainst } from '../readiness.ts'
import { Pool } from './pool.ts'
import { configLine } from './messages.ts'

export interface WorkersOptions {
  readonly config: GatewayConfig
  readonly count: number
}

/** Throws a sentence where it cannot start. */
export async function openWorkers({ config, count }: WorkersOptions): Promise<Server> {
  const clock = systemClock
  const lines = standardError()
  const ownLog = createLog(config.log.level, lines)
  const { log } = ownLog
  const ids = createIds()
  await mustBeFree(config.listen)
  // Nobody is there yet who could be told; who comes is told what then stands in the way.
  let tellTrouble = (_trouble: string | null): void => undefined
  const common = await openCommonParts({ config, clock, log, ids, onTrouble: (trouble) => tellTrouble(trouble) })
  const { folder, store, threads, secret, mailRoom, demo } = common
  if (threads === null) throw new Error('several threads serve around a file only')
  const observe = new Observe(ownLog)
  const parts = { config, folder, clock, ids, log, observe, store, secret, hashesAtOnce, random: Math.random }
  const services = createServices({
    ...parts,
    limits: createLimits(),
    imageFiles: null,
    mail: mailRoom,
    demoUrl: demo?.url ?? null,
    forget: (account) => pool.tell('forget', account),
  })
  observe.connect({
    ledger: store.ledger,
    upstreams: services.upstreams,
    limits: services.limits,
    condition: () => null,
    running: () => 0,
    ticks: () => clock.ticks(),
  })
  const everybodys = {
    metricsType: observe.metricsType,
    async metricsText() {
      // So that what the writer says of all is as of now.
      const [others] = await Promise.all([pool.metrics(), threads.heard().catch(() => undefined)])
      return textOf([await observe.metricsJson(), ...others])
    },
  }
  const pool = new Pool({
    count,
    threads: threads,
    limits: { byAddress: newMemory(), byAccount: newMemory() },
    start: { config: configLine(config), secret, demoUrl: demo?.url ?? null, ticksOrigin: ticksOrigin() },
    clock,
    log,
    onChange: (living, deaths) => observe.workersChanged(living, deaths),
    answers: (worker) => ({
      async reasons() {
        const { answers, isWhole } = await pool.ask('reasons')
        const own = reasonsAgainst(store.ledger.vitals())
        return [...new Set([...own, ...answers.flat(), ...(isWhole ? [] : ['a worker does not answer'])])]
      },
      metrics: () => everybodys.metricsText(),
      forget(account) {
        services.credentials.heardOf(account)
        pool.tell('forget', account, worker)
      },
      letter: (letter) => mailRoom.post(letter),
      log: (some) => lines.write(some),
      fault: (code) => threads.met(code),
    }),
  })
  tellTrouble = (trouble) => pool.tell('trouble', trouble)
  const release = async (owedMs = leastOwedMs): Promise<void> => {
    await services.largeBodies.close()
    await services.upstreams.close()
    await common.close(owedMs)
    observe.close()
  }
  const metrics = await listenForMetrics(config.metrics, everybodys).catch(async (error: unknown) => {
    await release()
    throw error
  })
  const url = await pool.open(config.listen.port).catch(async (error: unknown) => {
    await pool.close(0, leastOwedMs)
    await metrics?.close()
    await release()
    throw error
  })
  services.origins.site = config.listen.siteUrl ?? url
  services.origins.base = config.listen.baseUrl ?? config.listen.siteUrl ?? url
  sayWhatIsMissing(services)
  sayWhatIsNotAllowed(services)
  const chores = new Chores(services)
  return {
    services,
    begunIn: common.begunIn,
    url,
    metricsUrl: metrics?.url ?? null,
    demo,
    workers: count,
    async close({ drainMs = config.timeouts.drainMs } = {}) {
      await pool.close(drainMs, leastOwedMs)
      await chores.close()
      await metrics?.close()
      await release()
    },
  }
}

/** Whether the system shares out among several sockets who connects to one port. */
export async function canShare(): Promise<boolean> {
  const server = createServer()
  try {
    await bind(server, { host: '127.0.0.1', port: 0, names: 'PORT', isShared: true })
    return true
  } catch {
    return false
  } finally {
    server.close()
  }
}

/**
 * Sockets that share a port are let in beside each other, whosever they are; one that does not is let in nowhere but alone. So a second
 * server on the same port is refused as any other program is.
 */
async function mustBeFree({ host, port }: GatewayConfig['listen']): Promise<void> {
  if (port === 0) return
  const server = createServer()
  await bind(server, { host, port, names: 'PORT' })
  await new Promise<void>((resolve) => server.close(() => resolve()))
}

function newMemory(): LimitMemory {
  const bytes = randomBytes(8)
  return limitMemory([bytes.readInt32LE(0), bytes.readInt32LE(4)])
}
