/** Creates the limits of one serving thread: local to its process, or counted together with other nodes. */
import type { Clock } from '../../system/clock.ts'
import type { RateLimitStore } from './rate-limit-store.ts'
import { probe } from './rate-limit-store.ts'
import { DistributedRateLimit } from './distributed.ts'
import type { Limits, LocalLimits } from './limits.ts'

interface LimitsDeps {
  /** Valkey or Redis; null: none. */
  readonly url: string | null
  /** Prefix of all keys stored there. */
  readonly slug: string
  readonly local: LocalLimits
  /** If nodes share a database and there is no `url`: counts in that database. */
  readonly createSharedStore: (() => RateLimitStore) | null
  /** Current number of nodes that share the limits. */
  readonly nodes: () => number
  readonly clock: Clock
  readonly log: Readonly<Record<'info' | 'error', (about: object, sentence: string) => void>>
}

const connectTimeoutMs = 1_000

/** Never rejects: an unreachable server is retried, and meanwhile each node allows its share. */
export async function createLimits(deps: LimitsDeps): Promise<Limits> {
  const { local, nodes, clock, log } = deps
  const location = selectStore(deps)
  if (location === null) return local
  const { name, server } = location
  const distributed = new DistributedRateLimit({
    open: location.open,
    name,
    // Addresses and accounts have no names in common.
    local: local.byAccount,
    nodes,
    clock,
    onUnavailable: (why) =>
      log.error({ server, why }, `${name} does not answer; until it does, this node allows its share of each limit`),
    onRecovered: (lostMs) => log.info({ server, lostMs }, `${name} answers again and counts the requests per minute`),
  })
  await distributed.open()
  return { ...local, byAddress: distributed, byAccount: distributed, distributed }
}

interface StoreLocation {
  readonly name: string
  /** Its host, for the log. */
  readonly server: string
  open(): Promise<RateLimitStore>
}

function selectStore({ url, slug, createSharedStore }: LimitsDeps): StoreLocation | null {
  if (url !== null) return { name: 'the server of LIMITS_URL', server: new URL(url).host, open: () => loadValkeyStore(url, slug) }
  if (createSharedStore === null) return null
  return {
    name: 'the database of STORE_URL',
    server: 'store',
    async open() {
      const store = createSharedStore()
      // An open store has answered once.
      await store.consume(probe)
      return store
    },
  }
}

/** Loads the library only where it is used. */
export async function loadValkeyStore(url: string, slug: string): Promise<RateLimitStore> {
  const { openValkeyStore } = await import('./valkey.ts')
  return openValkeyStore({ url, prefix: `${slug}:l:`, connectTimeoutMs })
}
