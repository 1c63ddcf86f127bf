/** The number of workers by cores and memory, and each worker's share of the server's limits. */
import { availableParallelism, totalmem } from 'node:os'
import type { GatewayConfig } from '../../config/config.ts'
import type { Share } from './messages.ts'

/** Up to this many cores, one serving thread leaves room for the ledger's writer and its clients; two would compete for the rest. */
const maxSingleThreadCores = 2
/** A turn costs the ledger's single writer about a seventh of what it costs a serving thread: more workers would wait for it. */
const maxUsefulWorkers = 6

/** What one serving thread with everything else takes beside members who attack it, and what each further thread adds (docs/performance.md). */
const [singleThreadBytes, furtherThreadBytes] = [650 * 2 ** 20, 280 * 2 ** 20]

/** Below this a small footprint is worth more than speed. */
const littleMemoryBytes = 2 ** 30

export interface Machine {
  readonly cores: number
  /** What the process may use: the machine's, or that of its control group. */
  readonly memoryBytes: number
}

export interface WorkerCount {
  readonly count: number
  /** What would have to grow for more threads. */
  readonly boundBy: 'configuration' | 'database' | 'cores' | 'memory' | 'connections' | 'writer'
}

export function readMachine(): Machine {
  // 0 or an absurd number without a limit.
  const limit = process.constrainedMemory()
  return { cores: availableParallelism(), memoryBytes: limit > 0 ? Math.min(limit, totalmem()) : totalmem() }
}

export function hasLittleMemory({ memoryBytes }: Machine = readMachine()): boolean {
  return memoryBytes < littleMemoryBytes
}

/**
 * `'auto'` leaves two cores to the ledger's writer, the body parser and the system, and room for what attacks take. Never more workers than
 * client connections or upstream slots.
 */
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
  { cores, memoryBytes }: Machine = readMachine(),
): WorkerCount {
  if (workers !== 'auto') return { count: workers, boundBy: 'configuration' }
  // Nodes that share a database scale by processes, on one machine as well as on several.
  if (store.url !== null) return { count: 1, boundBy: 'database' }
  const connectionLimits = Object.values(upstreams).map(({ connections }) => connections)
  const bounds: readonly WorkerCount[] = [
    { count: cores <= maxSingleThreadCores ? 1 : cores - 2, boundBy: 'cores' },
    { count: 1 + Math.floor((memoryBytes - singleThreadBytes) / furtherThreadBytes), boundBy: 'memory' },
    { count: Math.min(limits.connections, ...connectionLimits), boundBy: 'connections' },
    { count: maxUsefulWorkers, boundBy: 'writer' },
  ]
  const lowest = bounds.reduce((least, bound) => (bound.count < least.count ? bound : least))
  return { ...lowest, count: Math.max(1, lowest.count) }
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
