/**
 * Usage of deleted accounts, stored under a keyed hash of the canonical email address until the period ends, a month at most, so that
 * registering again grants nothing. The figures name no account and cannot be linked to one without the installation's secret.
 */
import type { Window } from '../catalog/plan.ts'
import type { Pool } from '../catalog/product.ts'

/** Credits of one pool in one period. */
export interface CarriedUsage {
  readonly pool: Pool
  readonly window: Window
  readonly startsAt: number
  readonly endsAt: number
  readonly used: number
}

/** The usage that is stored when an account is erased. */
export interface UsageCarryOver {
  readonly person: Uint8Array
  readonly usage: readonly CarriedUsage[]
}

export interface CarriedUsages {
  /** Returns a person's stored usage. `Accounts.erase` writes it. */
  find(person: Uint8Array): Promise<readonly CarriedUsage[]>
  /** Deletes the figures of past periods. */
  sweep(at: number): Promise<void>
}
