/** One thread that serves: its application, its calls upstream, its socket; and how it ends. */
import { setTimeout as pause } from 'node:timers/promises'
import { GatewayError } from '../errors.ts'
import type { LargeBodies } from '../exchange/large/large-bodies.ts'
import { Chain } from '../exchange/run.ts'
import { createApp } from '../http/app.ts'
import { listen } from '../http/listen.ts'
import type { Listener } from '../http/listen.ts'
import type { RouteParts } from '../http/route-parts.ts'
import { Forwarder } from '../upstream/forward.ts'
import { learnModels } from '../upstream/learn-models.ts'
import { Calls } from './calls.ts'
import type { MadeServices } from './create-services.ts'

const lookEveryMs = 20

export interface ServingOptions {
  /** Where other threads of this process listen as well; null: nowhere, and nobody does. */
  readonly sharedPort?: number | null
  /** What is told of the whole process. */
  readonly operations: Omit<RouteParts['operations'], 'isDraining'>
}

export interface Serving {
  readonly url: string
  readonly forwarder: Forwarder
  /** No new turns; running ones finish within the time, the rest end with an error and a refund. */
  drain(drainMs: number): Promise<void>
  /** Lets go of all but the store. */
  release(): Promise<void>
}

/** Listens when it resolves. Throws a sentence where it cannot; the services are then of no more use than before. */
export async function openServing(services: MadeServices, { sharedPort = null, operations }: ServingOptions): Promise<Serving> {
  const { config, store, upstreams, observe, clock, origins, largeBodies } = services
  const forwarder = new Forwarder({
    config,
    upstreams,
    clock,
    onAttempt: (target, outcome) => observe.upstreamTried(target, outcome),
  })
  observe.connect({
    ledger: store.ledger,
    upstreams,
    limits: services.limits,
    condition: () => operations.database?.latest() ?? null,
    running: () => forwarder.running,
    ticks: () => clock.ticks(),
  })
  const calls = new Calls(services, forwarder)
  let isDraining = false
  const release = async (): Promise<void> => {
    await largeBodies.close()
    forwarder.close()
    await calls.close()
    await upstreams.close()
  }
  const chain = new Chain(config.plugins)
  const app = createApp({ services, chain, calls, operations: { ...operations, isDraining: () => isDraining } })
  const listener = await listen(app, services, sharedPort).catch(async (error: unknown) => {
    await release()
    throw error
  })
  origins.site = config.listen.siteUrl ?? listener.url
  origins.base = config.listen.baseUrl ?? config.listen.siteUrl ?? listener.url
  const stopLearning = learnModels(services)
  return {
    url: listener.url,
    forwarder,
    release,
    async drain(drainMs) {
      isDraining = true
      stopLearning()
      await drain(listener, { forwarder, largeBodies }, { drainMs, noticeMs: config.timeouts.noticeMs })
    },
  }
}

async function drain(
  listener: Listener,
  work: { readonly forwarder: Forwarder; readonly largeBodies: LargeBodies },
  { drainMs, noticeMs }: { readonly drainMs: number; readonly noticeMs: number },
): Promise<void> {
  const late = setTimeout(() => {
    const reason = new GatewayError('internal_error', {
      message: {
        en: 'The service is restarting. This turn was not counted; please send it again.',
        zh: '服务正在重启,本次不计入用量,请重新发送。',
      },
    })
    work.largeBodies.abortAll(reason)
    work.forwarder.abortAll(reason)
    listener.endIdle()
  }, drainMs)
  await listener.announceEnd(Math.min(noticeMs, drainMs))
  await listener.close()
  // Calls whose clients have left go on, and are paid for.
  while (work.forwarder.running > 0) await pause(lookEveryMs)
  clearTimeout(late)
}
