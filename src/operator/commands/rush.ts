/** `svc-gateway rush open | list | close`: a number of packs, first come first served, one per account. */
import type { RushState } from '../../domain/billing/boost.ts'
import { openRush } from '../../domain/services/boost-service.ts'
import { formatInstant } from '../../domain/instant.ts'
import { parseFutureInstant, parseInstant, parseWholeNumber } from './boost.ts'
import { CommandError, withInstallation } from '../installation.ts'
import { formatCellTime, formatMoment, formatTable, pluralize, renderResult } from '../output.ts'
import { formatZone } from '../../system/terminal/format-time.ts'
import type { OutputOptions, CommandResult } from '../output.ts'

const dayMs = 86_400_000

export function createRush(
  options: OutputOptions & { packs: string; credits?: string; starts: string; ends: string; pool?: string; allowOverlap?: true },
): Promise<CommandResult> {
  return withInstallation(async ({ store, ids, clock, calendar, config }) => {
    const at = clock.now()
    const { rush: defaults } = config.boosts
    const pool = options.pool ?? defaults.pool
    if (pool !== 'fast' && pool !== 'premium') throw new CommandError(`--pool must be fast or premium, not '${pool}'.`)
    const rush = {
      id: ids.next('rush_', at),
      packs: parseWholeNumber('--packs', options.packs),
      pool,
      credits: options.credits === undefined ? defaults.credits : parseWholeNumber('--credits', options.credits),
      packMs: defaults.days * dayMs,
      startsAt: options.starts === 'now' ? at : parseInstant('--starts', options.starts, at, calendar),
      endsAt: parseFutureInstant('--ends', options.ends, at, calendar),
    } as const
    const overlappingRush = await openRush(store.boosts, rush, at, { allowOverlap: options.allowOverlap === true }).catch(
      (error: unknown) => {
        throw error instanceof RangeError ? new CommandError(error.message) : error
      },
    )
    if (overlappingRush !== undefined) {
      throw new CommandError(
        `Rush ${overlappingRush.id} runs from ${formatMoment(overlappingRush.startsAt, at)} to ${formatMoment(overlappingRush.endsAt, at)} already. Close it (svc-gateway rush close ${overlappingRush.id}), choose another time, or use --allow-overlap to open a second one.`,
      )
    }
    return renderResult(
      options,
      {
        id: rush.id,
        packs: rush.packs,
        pool: rush.pool,
        credits: rush.credits,
        starts_at: formatInstant(rush.startsAt),
        ends_at: formatInstant(rush.endsAt),
        pack_days: defaults.days,
      },
      () =>
        `Rush ${rush.id}: ${pluralize(rush.packs, 'pack')} of ${rush.credits} credits (${rush.pool}), from ${formatMoment(rush.startsAt, at)} to ${formatMoment(rush.endsAt, at)}.`,
    )
  })
}

/** Lists rushes, newest first: packs offered, packs left, and times. */
export function listRushes(options: OutputOptions & { limit: string }): Promise<CommandResult> {
  return withInstallation(async ({ store, clock }) => {
    const at = clock.now()
    const rushes = await store.boosts.listRushes(parseWholeNumber('--limit', options.limit))
    const rows = rushes.map((rush) => ({
      id: rush.id,
      state: toRushState(rush, at),
      packs: rush.packs,
      remaining: rush.remaining,
      pool: rush.pool,
      credits: rush.credits,
      starts_at: formatInstant(rush.startsAt),
      ends_at: formatInstant(rush.endsAt),
    }))
    return renderResult(options, { object: 'list', data: rows }, () =>
      rows.length === 0
        ? 'There has been no rush. Open one: svc-gateway rush open --packs 50 --ends 2h'
        : formatTable(
            ['rush', 'state', 'packs', 'left', 'pool', 'credits', `starts (${formatZone(at)})`, 'ends'],
            rows.map(({ starts_at, ends_at, ...row }) => [
              ...Object.values(row),
              formatCellTime(starts_at, at),
              formatCellTime(ends_at, at),
            ]),
          ),
    )
  })
}

function toRushState({ startsAt, endsAt, remaining }: RushState, now: number): 'to come' | 'open' | 'sold out' | 'over' {
  if (endsAt <= now) return 'over'
  if (startsAt > now) return 'to come'
  return remaining === 0 ? 'sold out' : 'open'
}

/** Ends a rush: no further pack is granted, and one that had not begun never starts. */
export function closeRush(id: string, options: OutputOptions): Promise<CommandResult> {
  return withInstallation(async ({ store, clock }) => {
    const at = clock.now()
    if (!(await store.boosts.closeRush(id, at)))
      throw new CommandError(`There is no rush '${id}' that runs or is to come. See: svc-gateway rush list`)
    return renderResult(options, { id, ends_at: formatInstant(at) }, () => `Rush ${id} is closed.`)
  })
}
