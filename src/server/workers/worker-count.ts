/** The number of workers, and each worker's share of the server's limits. */
import { availableParallelism } from 'node:os'
import type { GatewayConfig } from '../../config/config.ts'
import type { Share } from './messages.ts'

/** Up to this many cores, one serving thread leaves room for the ledger's writer and its clients; two would compete for the rest. */
const maxSingleThreadCores = 2
/** A turn costs the ledger's single writer about a seventh of what it costs a serving thread: more workers would wait for it. */
const maxUsefulWorkers = 6

/** `'auto'` leaves two cores to the ledger's writer, the body parser and the system. Never more workers than client connections or upstream slots. */
export function resolveWorkerCount(
  {
    workers,
    upstreams,
    limits,
    store,
  }: Pick<GatewayConfig, 'workers' | 'upstreams'> & {
    readonly limits: Pick<GatewayConfig['limits'], 'connections'>
    readonly store: Pick<GatewayConfig['store'], 'url'>
  },
  cores = availableParallelism(),
): number {
  if (workers !== 'auto') return workers
  // Nodes that share a database scale by processes, on one machine as well as on several.
  if (store.url !== null) return 1
  const connectionLimits = Object.values(upstreams).map(({ connections }) => connections)
  return cores <= maxSingleThreadCores ? 1 : Math.min(cores - 2, maxUsefulWorkers, limits.connections, ...connectionLimits)
}

/** The configuration with this worker's share of connections and of each upstream's slots and queue. */
export function applyWorkerShare(config: GatewayConfig, share: Share): GatewayConfig {
  const { limits, upstreams } = config
  return {
    ...config,
    limits: { ...limits, connections: takeShare(limits.connections, share) },
    upstreams: Object.fromEntries(
      Object.entries(upstreams).map(([name, upstream]) => [
        name,
        { ...upstream, connections: takeShare(upstream.connections, share), maxPending: takeShare(upstream.maxPending, share) },
      ]),
    ),
  }
}

/** The shares of all workers add up to the whole. */
function takeShare(whole: number, { index, count }: Share): number {
  return Math.floor(whole / count) + (index < whole % count ? 1 : 0)
}
