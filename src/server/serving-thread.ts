/** A server that serves with its own thread. Tests open it too, so that they run what production runs. */
import { DatabaseProbe } from '../services/health/database-probe.ts'
import { getNotReadyReasons } from '../services/health/readiness.ts'
import { createServices, maxConcurrentHashes } from './create-services.ts'
import { DoctorProcess } from './console/doctor-process.ts'
import { FigureSampler } from './console/figure-sampler.ts'
import { openLimits } from './open-limits.ts'
import { openServer } from './server.ts'
import type { Server, ServerOptions, ServerParts, ServingThreads } from './server.ts'
import { openWorkerRuntime } from './worker-runtime.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

export type Gateway = Server<ServingThread>

export function openGateway(options: ServerOptions): Promise<Gateway> {
  return openServer(options, openServingThread)
}

interface ServingThread extends ServingThreads {
  readonly forwarder: WorkerRuntime['forwarder']
  /** The number of configurations under which requests are running. */
  readonly configurations: number
}

async function openServingThread(parts: ServerParts): Promise<ServingThread> {
  const { clock, store, telemetry, resources } = parts
  const { mailer, imageFiles } = resources
  const limits = await openLimits(parts, resources)
  const services = createServices({ ...parts, limits, imageFiles, mail: mailer, maxConcurrentHashes })
  const figures = new FigureSampler(clock, async () => [await telemetry.metricsJson()])
  const doctor = new DoctorProcess()
  const operations = {
    notReadyReasons: () => getNotReadyReasons(store.ledger.stats(), services.credentials.databaseSilentMs),
    mailNote: () => mailer.note,
    metricsText: () => telemetry.metricsText(),
    readFigures: () => figures.read(),
    runDoctor: () => doctor.run(),
    database: store.cluster && new DatabaseProbe(store.cluster, clock),
  }
  let runtime: WorkerRuntime | undefined
  const requireRuntime = (): WorkerRuntime => {
    if (runtime === undefined) throw new Error('this thread does not listen yet')
    return runtime
  }
  return {
    count: 1,
    get services() {
      return runtime?.services ?? services
    },
    get forwarder() {
      return requireRuntime().forwarder
    },
    get configurations() {
      return requireRuntime().configurations
    },
    metrics: telemetry,
    readMetrics: async () => [await telemetry.metricsJson()],
    async listen() {
      runtime = await openWorkerRuntime(services, { operations, mailStats: () => mailer.stats })
      return runtime.url
    },
    reconfigure: async (next, certificate) => requireRuntime().reconfigure(next, certificate),
    drain: (drainMs) => requireRuntime().drain(drainMs),
    async release() {
      figures.close()
      await runtime?.release()
      limits.distributed?.close()
    },
  }
}
