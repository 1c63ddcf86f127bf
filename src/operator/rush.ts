/** `svc-gateway rush open`: so many packs for whoever comes first, one an account. */
import { openRush } from '../membership/boost-desk.ts'
import { futureInstant, instantOf, wholeNumber } from './boost.ts'
import { atDesk, CommandError } from './desk.ts'
import { instant, show } from './output.ts'
import type { Output } from './output.ts'

const dayMs = 86_400_000

export function open(
  options: Output & { packs: string; credits?: string; starts: string; ends: string; tier?: string },
): Promise<void> {
  return atDesk(async ({ store, ids, clock, config }) => {
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
      startsAt: options.starts === 'now' ? at : instantOf('--starts', options.starts, at),
      endsAt: futureInstant('--ends', options.ends, at),
    } as const
    await openRush(store.boosts, rush, at).catch((error: unknown) => {
      throw error instanceof RangeError ? new CommandError(error.message) : error
    })
    show(
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
        `Rush ${rush.id}: ${rush.packs} packs of ${rush.credits} credits (${rush.pool}), from ${String(instant(rush.startsAt))} to ${String(instant(rush.endsAt))}.`,
    )
  })
}
