/** `svc-gateway rush open | list | close`: so many packs for whoever comes first, one an account. */
import type { RushState } from '../membership/boost.ts'
import { openRush } from '../membership/boost-desk.ts'
import { instant } from '../membership/instant.ts'
import { futureInstant, instantOf, wholeNumber } from './boost.ts'
import { CommandError, withInstallation } from './installation.ts'
import { counted, say, table } from './output.ts'
import type { Output, Said } from './output.ts'

const dayMs = 86_400_000

export function open(
  options: Output & { packs: string; credits?: string; starts: string; ends: string; tier?: string; beside?: true },
): Promise<Said> {
  return withInstallation(async ({ store, ids, clock, calendar, config }) => {
    const at = clock.now()
    const { rush: defaults } = config.boosts
    const pool = options.tier ?? defaults.pool
    if (pool !== 'fast' && pool !== 'premium') throw new CommandError(`--tier must be fast or premium, not '${pool}'.`)
    const rush = {
      id: ids.next('rush_', at),
      packs: wholeNumber('--packs', options.packs),
      pool,
      credits: options.credits === undefined ? defaults.credits : wholeNumber('--credits', options.credits),
      packMs: defaults.days * dayMs,
      startsAt: options.starts === 'now' ? at : instantOf('--starts', options.starts, at, calendar),
      endsAt: futureInstant('--ends', options.ends, at, calendar),
    } as const
    const inTheWay = await openRush(store.boosts, rush, at, { beside: options.beside === true }).catch((error: unknown) => {
      throw error instanceof RangeError ? new CommandError(error.message) : error
    })
    if (inTheWay !== undefined) {
      throw new CommandError(
        `Rush ${inTheWay.id} runs from ${instant(inTheWay.startsAt)} to ${instant(inTheWay.endsAt)} already. Close it (svc-gateway rush close ${inTheWay.id}), choose another time, or say --beside to open a second one.`,
      )
    }
    return say(
      options,
      {
        id: rush.id,
        packs: rush.packs,
        tier: rush.pool,
        credits: rush.credits,
        starts_at: instant(rush.startsAt),
        ends_at: instant(rush.endsAt),
        pack_days: defaults.days,
      },
      () =>
        `Rush ${rush.id}: ${counted(rush.packs, 'pack')} of ${rush.credits} credits (${rush.pool}), from ${instant(rush.startsAt)} to ${instant(rush.endsAt)}.`,
    )
  })
}

/** Newest first: what was promised, what is left of it, and when. */
export function list(options: Output & { limit: string }): Promise<Said> {
  return withInstallation(async ({ store, clock }) => {
    const at = clock.now()
    const rushes = await store.boosts.rushes(wholeNumber('--limit', options.limit))
    const rows = rushes.map((rush) => ({
      id: rush.id,
      state: stateOf(rush, at),
      packs: rush.packs,
      remaining: rush.remaining,
      tier: rush.pool,
      credits: rush.credits,
      starts_at: instant(rush.startsAt),
      ends_at: instant(rush.endsAt),
    }))
    return say(options, { object: 'list', data: rows }, () =>
      rows.length === 0
        ? 'There has been no rush. Open one: svc-gateway rush open --packs 50 --ends 2h'
        : table(
            ['rush', 'state', 'packs', 'left', 'tier', 'credits', 'starts', 'ends'],
            rows.map((row) => Object.values(row)),
          ),
    )
  })
}

function stateOf({ startsAt, endsAt, remaining }: RushState, now: number): 'to come' | 'open' | 'sold out' | 'over' {
  if (endsAt <= now) return 'over'
  if (startsAt > now) return 'to come'
  return remaining === 0 ? 'sold out' : 'open'
}

/** Nobody can take another pack of it; one that had not begun never does. */
export function close(id: string, options: Output): Promise<Said> {
  return withInstallation(async ({ store, clock }) => {
    const at = clock.now()
    if (!(await store.boosts.closeRush(id, at)))
      throw new CommandError(`There is no rush '${id}' that runs or is to come. See: svc-gateway rush list`)
    return say(options, { id, ends_at: instant(at) }, () => `Rush ${id} is closed.`)
  })
}
