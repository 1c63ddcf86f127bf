/**
 * Which turns count for a share of success, by how they ended: those that completed, and those that failed for no fault of their member. What a
 * member's request or limits caused, and what a client stopped, says nothing about the service.
 */
import { errorCatalog } from '../../errors.ts'
import type { Stage } from '../../errors.ts'
import type { TurnEnding } from './turn-history.ts'

const servicesStages: readonly Stage[] = ['upstream', 'internal']

/** The codes of failures that are their member's. Codes of older versions are the service's. */
export const membersFaults: readonly TurnEnding[] = Object.entries(errorCatalog)
  .filter(([, { stage }]) => !servicesStages.includes(stage))
  .map(([code]) => code)

export interface SuccessRate {
  readonly succeeded: number
  /** Failed for no fault of their member. */
  readonly faults: number
  /** Both. */
  readonly rated: number
  /** 0 to 1; null where no turn counts. */
  readonly share: number | null
}

export function rateEndings(endings: Readonly<Record<TurnEnding, number>>): SuccessRate {
  const succeeded = endings['completed'] ?? 0
  const faults = Object.entries(endings)
    .filter(([ending]) => ending !== 'completed' && isRated(ending))
    .reduce((sum, [, turns]) => sum + turns, 0)
  const rated = succeeded + faults
  return { succeeded, faults, rated, share: rated === 0 ? null : succeeded / rated }
}

/** Endings that no share counts. */
export const unratedEndings: readonly TurnEnding[] = ['aborted', ...membersFaults]

function isRated(ending: TurnEnding): boolean {
  return !unratedEndings.includes(ending)
}
