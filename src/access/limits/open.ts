/** The limits of one thread that serves: its process's own, or those that it counts together with other nodes. */
import type { Clock } from '../../system/clock.ts'
import type { LimitBook } from './book.ts'
import { LimitsElsewhere } from './elsewhere.ts'
import type { Limits, OwnLimits } from './limits.ts'

export interface LimitsParts {
  /** Of Valkey or Redis; null: nowhere else. */
  readonly url: string | null
  /** Begins the names of all that is kept there. */
  readonly slug: string
  readonly own: OwnLimits
  /** How many nodes share the limits now. */
  readonly nodes: () => number
  readonly clock: Clock
  readonly log: Readonly<Record<'info' | 'error', (about: object, sentence: string) => void>>
}

const connectMs = 1_000

/** Never rejects: a server that cannot be reached is tried again, and meanwhile each node allows its share. */
export async function openLimits({ url, slug, own, nodes, clock, log }: LimitsParts): Promise<Limits> {
  if (url === null) return own
  const { host } = new URL(url)
  const elsewhere = new LimitsElsewhere({
    open: () => openBook(url, slug),
    // Addresses and accounts have no names in common.
    own: own.byAccount,
    nodes,
    clock,
    onLost: (why) =>
      log.error(
        { server: host, why },
        'the server of LIMITS_URL does not answer; until it does this node allows its share of each limit',
      ),
    onBack: (lostMs) =>
      log.info({ server: host, lostMs }, 'the server of LIMITS_URL answers again; requests a minute are counted there'),
  })
  await elsewhere.open()
  return { byAddress: elsewhere, byAccount: elsewhere, running: own.running, elsewhere }
}

/** The library is loaded by those alone who need it. */
export async function openBook(url: string, slug: string): Promise<LimitBook> {
  const { openValkeyBook } = await import('./valkey.ts')
  return openValkeyBook({ url, prefix: `${slug}:l:`, connectMs })
}
