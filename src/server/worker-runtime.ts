/** One serving thread: its application, upstream calls and socket, and its shutdown. */
import { setTimeout as pause } from 'node:timers/promises'
import { GatewayError } from '../errors.ts'
import { PluginChain } from '../exchange/plugin-chain.ts'
import { createApp } from '../http/app.ts'
import { createSlowBodyError } from '../http/request/read-body.ts'
import { listen } from '../http/server/listen.ts'
import type { Listener } from '../http/server/listen.ts'
import type { MailStats } from '../mail/email-results.ts'
import type { RouteDeps } from '../http/route-deps.ts'
import { Forwarder } from '../upstream/forward.ts'
import { startModelDiscovery } from '../upstream/target/model-discovery.ts'
import { TurnHandlers } from '../tools/turn-handlers.ts'
import type { CreatedServices } from './create-services.ts'

const pollMs = 20

interface WorkerRuntimeOptions {
  /** The port shared with other threads of this process, 0 for the first; null where one thread serves. */
  readonly sharedPort?: number | null
  /** Operations that cover the whole process. */
  readonly operations: Omit<RouteDeps['operations'], 'isDraining'>
  /** Null in a thread that sends no emails itself. */
  readonly mailStats?: (() => MailStats) | null
}

export interface WorkerRuntime {
  readonly url: string
  readonly forwarder: Forwarder
  /** Refuses new turns. Running ones may finish within the time; the rest end with an error and a refund. */
  drain(drainMs: number): Promise<void>
  /** Releases everything except the store. */
  release(): Promise<void>
}

/** Resolves when it listens. Throws an operator's sentence if it cannot; the caller still owns the services. */
export async function openWorkerRuntime(
  services: CreatedServices,
  { sharedPort = null, operations, mailStats = null }: WorkerRuntimeOptions,
): Promise<WorkerRuntime> {
  const { config, store, upstreams, telemetry, clock, origins, bodyParser, bodyScheduler } = services
  const forwarder = new Forwarder({
    config,
    upstreams,
    clock,
    onAttempt: (target, outcome) => telemetry.recordUpstreamAttempt(target, outcome),
  })
  telemetry.connectSources({
    ledger: store.ledger,
    upstreams,
    limits: services.limits,
    databaseStatus: () => operations.database?.getLatestStatus() ?? null,
    mailStats,
    countRunningTurns: () => forwarder.running,
    monotonicMs: () => clock.monotonicMs(),
  })
  const turnHandlers = new TurnHandlers(services, forwarder)
  let isDraining = false
  const release = async (): Promise<void> => {
    bodyScheduler.stopChecks()
    await bodyParser.close()
    forwarder.close()
    await turnHandlers.close()
    await upstreams.close()
  }
  const chain = new PluginChain(config.plugins)
  const app = createApp({ services, chain, turnHandlers, operations: { ...operations, isDraining: () => isDraining } })
  const listener = await listen(app, services, sharedPort).catch(async (error: unknown) => {
    await release()
    throw error
  })
  bodyScheduler.startChecks(createSlowBodyError)
  origins.site = config.listen.siteUrl ?? listener.url
  origins.base = config.listen.baseUrl ?? config.listen.siteUrl ?? listener.url
  const stopLearning = startModelDiscovery(services)
  return {
    url: listener.url,
    forwarder,
    release,
    async drain(drainMs) {
      isDraining = true
      stopLearning()
      await drain(listener, { ...services, forwarder }, { drainMs, noticeMs: config.timeouts.drainNoticeMs })
    },
  }
}

async function drain(
  listener: Listener,
  work: Pick<CreatedServices, 'bodyParser' | 'bodyScheduler' | 'bodyDiscarder'> & { readonly forwarder: Forwarder },
  { drainMs, noticeMs }: { readonly drainMs: number; readonly noticeMs: number },
): Promise<void> {
  const deadlineTimer = setTimeout(() => {
    const reason = new GatewayError('internal_error', {
      message: {
        en: 'The service is restarting. You were not charged. Send the request again.',
        zh: '服务正在重启，本次未计费，请重新发送请求。',
      },
    })
    // First, because the refusals of the others would otherwise wait for bodies for longer than the connections remain.
    work.bodyDiscarder.stop()
    work.bodyScheduler.abortAll(reason)
    work.bodyParser.abortAll(reason)
    work.forwarder.abortAll(reason)
    listener.destroyAfterGrace()
  }, drainMs)
  await listener.beginShutdownNotice(Math.min(noticeMs, drainMs))
  await listener.close()
  // Calls whose clients have disconnected run to their end and are charged.
  while (work.forwarder.running > 0) await pause(pollMs)
  clearTimeout(deadlineTimer)
}
