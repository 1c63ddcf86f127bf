/** The limits of one thread that serves: its process's own, or those that it counts together with other nodes. */
import type { Clock } from '../../system/clock.ts'
import type { LimitBook } from './book.ts'
import { proof } from './book.ts'
import { LimitsElsewhere } from './elsewhere.ts'
import type { Limits, OwnLimits } from './limits.ts'

export interface LimitsParts {
  /** Of Valkey or Redis; null: nowhere else. */
  readonly url: string | null
  /** Begins the names of all that is kept there. */
  readonly slug: string
  readonly own: OwnLimits
  /** Where nodes share a database: counts in it, where there is no `url`. */
  readonly shared: (() => LimitBook) | null
  /** How many nodes share the limits now. */
  readonly nodes: () => number
  readonly clock: Clock
  readonly log: Readonly<Record<'info' | 'error', (about: object, sentence: string) => void>>
}

const connectMs = 1_000

/** Never rejects: a server that cannot be reached is tried again, and meanwhile each node allows its share. */
export async function openLimits(parts: LimitsParts): Promise<Limits> {
  const { own, nodes, clock, log } = parts
  const place = placeOf(parts)
  if (place === null) return own
  const { name, server } = place
  const elsewhere = new LimitsElsewhere({
    open: place.open,
    name,
    // Addresses and accounts have no names in common.
    own: own.byAccount,
    nodes,
    clock,
    onLost: (why) =>
      log.error({ server, why }, `${name} does not answer; until it does this node allows its share of each limit`),
    onBack: (lostMs) => log.info({ server, lostMs }, `${name} answers again; requests a minute are counted there`),
  })
  await elsewhere.open()
  return { byAddress: elsewhere, byAccount: elsewhere, running: own.running, elsewhere }
}

interface Place {
  readonly name: string
  /** Its host, for the log. */
  readonly server: string
  open(): Promise<LimitBook>
}

function placeOf({ url, slug, shared }: LimitsParts): Place | null {
  if (url !== null) return { name: 'the server of LIMITS_URL', server: new URL(url).host, open: () => openBook(url, slug) }
  if (shared === null) return null
  return {
    name: 'the database of STORE_URL',
    server: 'store',
    async open() {
      const book = shared()
      // A book that is open has answered once.
      await book.take(proof)
      return book
    },
  }
}

/** The library is loaded by those alone who need it. */
export async function openBook(url: string, slug: string): Promise<LimitBook> {
  const { openValkeyBook } = await import('./valkey.ts')
  return openValkeyBook({ url, prefix: `${slug}:l:`, connectMs })
}
