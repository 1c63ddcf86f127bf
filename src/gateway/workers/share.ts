/** How many workers serve, and what each of them may have of what a server may have in all. */
import { availableParallelism } from 'node:os'
import type { GatewayConfig } from '../../config/config.ts'
import type { Share } from './messages.ts'

/** On so few cores one thread that serves leaves room for the ledger's writer and for what it talks to; two would share what is left. */
const fewCores = 2
/** A turn costs the ledger's one writer about a seventh of what it costs the thread that serves it: more would wait for it. */
const mostUseful = 6

/** `'auto'`: two cores are left to the ledger's writer, long prompts and the system; never more workers than there are connections, or than any upstream has places. */
export function workersFor(
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
  // Nodes that share a database share it from one machine as well as from several.
  if (store.url !== null) return 1
  const places = Object.values(upstreams).map(({ connections }) => connections)
  return cores <= fewCores ? 1 : Math.min(cores - 2, mostUseful, limits.connections, ...places)
}

/** The configuration with this worker's part of connections, and of each upstream's places and line. */
export function shareOf(config: GatewayConfig, share: Share): GatewayConfig {
  const { limits, upstreams } = config
  return {
    ...config,
    limits: { ...limits, connections: part(limits.connections, share) },
    upstreams: Object.fromEntries(
      Object.entries(upstreams).map(([name, upstream]) => [
        name,
        { ...upstream, connections: part(upstream.connections, share), queue: part(upstream.queue, share) },
      ]),
    ),
  }
}

/** The parts of all add up to the whole. */
function part(whole: number, { index, of }: Share): number {
  return Math.floor(whole / of) + (index < whole % of ? 1 : 0)
}
