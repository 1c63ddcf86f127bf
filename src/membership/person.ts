/**
 * What is kept of somebody who left: figures under a keyed hash of their mailbox, and no longer than the period that each is of, a month
 * at most. They name no account; whoever has neither the installation's secret nor the address can tell nothing from them.
 */
import type { Window } from './plan.ts'
import type { Pool } from './product.ts'

/** Credits of one pool, in one period. */
export interface KeptUse {
  readonly pool: Pool
  readonly window: Window
  readonly startsAt: number
  readonly endsAt: number
  readonly used: number
}

/** What an account takes along when it is forgotten. */
export interface Legacy {
  readonly person: Uint8Array
  readonly use: readonly KeptUse[]
}

export interface Persons {
  /** What is kept of a person. It is put there by the step that forgets an account (`Accounts.forget`). */
  use(person: Uint8Array): Promise<readonly KeptUse[]>
  /** Forgets the figures of periods that are over. */
  sweep(at: number): Promise<void>
}
