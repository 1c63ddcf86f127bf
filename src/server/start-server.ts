/** Starts the server with one serving thread or several, as configuration and machine allow. */
import type { GatewayConfig } from '../config/config.ts'
import type { Server } from './server.ts'
import { openGateway } from './serving-thread.ts'
import { readMachine, resolveWorkerCount } from './workers/worker-count.ts'

/** @throws ConfigError or OperatorError where it cannot start */
export async function startServer(config: GatewayConfig): Promise<Server> {
  const machine = readMachine()
  const { count, boundBy } = resolveWorkerCount(config, machine)
  const server = await startThreads(config, count)
  const memoryMib = Math.round(machine.memoryBytes / 2 ** 20)
  server.services.log.info({ workers: count, boundBy, cores: machine.cores, memoryMib }, 'number of serving threads')
  return server
}

async function startThreads(config: GatewayConfig, count: number): Promise<Server> {
  if (count === 1) return openGateway({ config })
  const { canReusePort, startWorkerServer } = await import('./workers/worker-serving.ts')
  if (await canReusePort()) return startWorkerServer({ config, count })
  const gateway = await openGateway({ config })
  gateway.services.log.warn({ workers: count }, 'one thread serves: this system does not support SO_REUSEPORT')
  return gateway
}
