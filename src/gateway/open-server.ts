/** The server as its configuration and its machine want it: one thread that serves, or several. */
import type { GatewayConfig } from '../config/config.ts'
import type { Server } from './gateway.ts'
import { openGateway } from './gateway.ts'
import { workersFor } from './workers/share.ts'

/** Throws a sentence where it cannot start. */
export async function openServer(config: GatewayConfig): Promise<Server> {
  const count = workersFor(config)
  if (count === 1) return openGateway({ config })
  const { canShare, openWorkers } = await import('./workers/open-workers.ts')
  if (await canShare()) return openWorkers({ config, count })
  const gateway = await openGateway({ config })
  gateway.services.log.warn({ workers: count }, 'one thread serves: this system does not share a port out among several')
  return gateway
}
