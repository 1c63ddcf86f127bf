/** One serving thread: its application, upstream calls and socket, and its shutdown. */
import { GatewayError } from '../errors.ts'
import { PluginChain } from '../exchange/plugins/plugin-chain.ts'
import { createSlowBodyError } from '../http/request/read-body.ts'
import { listen } from '../http/server/listen.ts'
import type { CertificatePair, Listener } from '../http/server/listen.ts'
import type { MailStats } from '../mail/email-results.ts'
import type { RouteDeps } from '../http/route-deps.ts'
import type { GatewayConfig } from '../config/config.ts'
import { startModelDiscovery } from '../upstream/target/model-discovery.ts'
import { followTakenOutTargets } from '../services/routing/target-routing.ts'
import { getNotReadyReasons } from '../services/health/readiness.ts'
import { ConfiguredApp } from './reload/configured-app.ts'
import { setOrigins } from './create-services.ts'
import type { CreatedServices } from './create-services.ts'
import { getBodyBudgetBounds } from './open-limits.ts'

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
  /** The services of new requests. */
  readonly services: CreatedServices
  readonly forwarder: ConfiguredApp['forwarder']
  /** The configurations under which requests are running; one, unless a request has outlived a reload. */
  readonly configurations: number
  /** Uses another configuration and certificate for new requests; running ones end under theirs. */
  reconfigure(config: GatewayConfig, certificate: CertificatePair | null): void
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
  const { config, store, telemetry, clock, log, bodyScheduler } = services
  let isDraining = false
  const chain = new PluginChain(config.plugins)
  const openApp = (configured: CreatedServices): ConfiguredApp =>
    new ConfiguredApp({ services: configured, chain, operations: { ...operations, isDraining: () => isDraining } })
  let current = openApp(services)
  /** The current one, and earlier ones in which requests are still running. */
  const apps = new Set([current])
  const countRunningTurns = (): number => [...apps].reduce((sum, { forwarder }) => sum + forwarder.running, 0)
  const connectTelemetry = (): void =>
    telemetry.connectSources({
      ledger: store.ledger,
      upstreams: current.services.upstreams,
      limits: services.limits,
      databaseStatus: () => operations.database?.getLatestStatus() ?? null,
      mailStats,
      countRunningTurns,
      monotonicMs: () => clock.monotonicMs(),
      machine: {
        notReadyReasons: (ledger) => getNotReadyReasons(ledger, services.credentials.databaseSilentMs),
        dataDir: config.store.dataDir,
        countNodes: store.cluster === null ? null : () => store.cluster?.countNodes() ?? 0,
      },
    })
  connectTelemetry()
  const release = async (): Promise<void> => {
    bodyScheduler.stopChecks()
    for (const app of apps) await app.close()
  }
  await followTakenOutTargets(services).catch(async (error: unknown) => {
    await release()
    throw error
  })
  const listener = await listen((request, response) => void current.handle(request, response), services, sharedPort).catch(
    async (error: unknown) => {
      await release()
      throw error
    },
  )
  bodyScheduler.startChecks(createSlowBodyError)
  setOrigins(services, listener.url)
  let stopLearning = startModelDiscovery(services)
  return {
    url: listener.url,
    release,
    get services() {
      return current.services
    },
    get forwarder() {
      return current.forwarder
    },
    get configurations() {
      return apps.size
    },
    reconfigure(next, certificate) {
      const earlierApp = current
      current = openApp(earlierApp.services.withConfig(next))
      apps.add(current)
      services.limits.bodies.setBounds(getBodyBudgetBounds(next.limits))
      listener.reconfigure({ maxConnections: next.limits.connections, certificate })
      connectTelemetry()
      stopLearning()
      stopLearning = isDraining ? () => undefined : startModelDiscovery(current.services)
      void earlierApp
        .retire()
        .then(() => {
          apps.delete(earlierApp)
          return earlierApp.close([...apps])
        })
        .catch((error: unknown) => log.error({ err: error }, 'what an earlier configuration used could not be released'))
    },
    async drain(drainMs) {
      isDraining = true
      stopLearning()
      await drain(
        listener,
        { apps, bodyScheduler, clock, countRunningTurns },
        { drainMs, noticeMs: config.timeouts.drainNoticeMs },
      )
    },
  }
}

interface RunningWork extends Pick<CreatedServices, 'clock'> {
  readonly bodyScheduler: Pick<CreatedServices['bodyScheduler'], 'abortAll'>
  readonly apps: ReadonlySet<{
    readonly services: Pick<CreatedServices, 'bodyDiscarder' | 'bodyParser'>
    readonly forwarder: Pick<ConfiguredApp['forwarder'], 'abortAll'>
  }>
  readonly countRunningTurns: () => number
}

/** Lets running turns finish within `drainMs`, and ends the rest with an error and a refund. Resolves when none runs. */
export async function drain(
  listener: Pick<Listener, 'beginShutdownNotice' | 'close' | 'destroyAfterGrace'>,
  { apps, bodyScheduler, clock, countRunningTurns }: RunningWork,
  { drainMs, noticeMs }: { readonly drainMs: number; readonly noticeMs: number },
): Promise<void> {
  const deadlineTimer = clock.after(drainMs, () => {
    const reason = new GatewayError('internal_error', {
      message: {
        en: 'The service is restarting. You were not charged. Send the request again.',
        zh: '服务正在重启，本次未计费，请重新发送请求。',
      },
    })
    // First, because the refusals of the others would otherwise wait for bodies for longer than the connections remain.
    for (const { services } of apps) services.bodyDiscarder.stop()
    bodyScheduler.abortAll(reason)
    for (const { services } of apps) services.bodyParser.abortAll(reason)
    for (const { forwarder } of apps) forwarder.abortAll(reason)
    listener.destroyAfterGrace()
  })
  await listener.beginShutdownNotice(Math.min(noticeMs, drainMs))
  await listener.close()
  // Calls whose clients have disconnected run to their end and are charged.
  while (countRunningTurns() > 0) await clock.wait(pollMs)
  deadlineTimer.cancel()
}
