/** The ledger's operations and their results. `operation-codec.ts` turns both into tuples where they cross a thread boundary. */
import type {
  AdjustOrder,
  ChangePackOrder,
  Ending,
  GrantOrder,
  Pack,
  PackKind,
  Reservation,
} from '../../domain/billing/ledger.ts'
import type { Periods } from '../../domain/billing/period.ts'
import type { Window } from '../../domain/billing/catalog/plan.ts'
import type { Pool } from '../../domain/billing/catalog/product.ts'
import type { PruningStep } from './pruning.ts'
import type { TurnAnnotation, TurnRequest, TurnUsage } from './turn-columns.ts'

/** Takes between `minAmount` and `amount` credits for a turn. */
export interface ReserveOperation {
  readonly kind: 'reserve'
  readonly periods: Periods
  readonly limits: Readonly<Record<Window, number>>
  readonly amount: number
  readonly minAmount: number
  /** By the monotonic clock of the process that holds it. */
  readonly leaseUntil: number
  readonly maxConcurrentTurns: number
  readonly request: TurnRequest
}

export interface SettleOperation {
  readonly kind: 'settle'
  readonly hold: number
  readonly usage: TurnUsage
  readonly annotation: TurnAnnotation | null
}

export interface RefundOperation {
  readonly kind: 'refund'
  readonly hold: number
  readonly usage: TurnUsage
}

export interface GrantOperation extends Omit<GrantOrder, 'kind'> {
  readonly kind: 'grant'
  readonly packKind: PackKind
}

/** Adds credits as a pack, or takes them. */
export interface AdjustOperation extends AdjustOrder {
  readonly kind: 'adjust'
}

/** Takes credits of one pack, or gives them back. */
export interface ChangePackOperation extends ChangePackOrder {
  readonly kind: 'changePack'
}

/** Opens the current periods of a new account with the usage that its owner's earlier account left. */
export interface OpenWithUsageOperation {
  readonly kind: 'openWithUsage'
  readonly account: string
  readonly pool: Pool
  readonly at: number
  readonly periods: Readonly<Record<Window, UsedPeriod>>
}

export interface UsedPeriod {
  readonly start: number
  readonly end: number
  readonly used: number
}

export type EndingOperation = SettleOperation | RefundOperation

/** Concerns one account and depends on that account's rows alone. */
export type AccountOperation =
  | ReserveOperation
  | EndingOperation
  | GrantOperation
  | AdjustOperation
  | ChangePackOperation
  | OpenWithUsageOperation

/** Ends overdue holds, and those of dead processes. */
export interface ExpireOperation {
  readonly kind: 'expire'
  readonly at: number
  readonly monotonicMs: number
  /** Holds whose ending is known and only waits to be written. */
  readonly except: readonly number[]
}

/** Deletes what a new checkpoint replaces, as planned in `pruning.ts`. */
export interface PruneOperation {
  readonly kind: 'prune'
  readonly step: PruningStep
}

export type LedgerOperation = AccountOperation | ExpireOperation | PruneOperation

export interface EndingResult extends Ending {
  readonly kind: 'ended'
}

export interface PackResult {
  readonly kind: 'pack'
  readonly pack: Pack
}

export interface CountResult {
  readonly kind: 'count'
  readonly count: number
}

export interface SweepResult {
  readonly kind: 'swept'
  readonly expired: number
  /** Holds of dead processes that were ended as their journals say. */
  readonly recovered: number
}

export type AccountResult = Reservation | EndingResult | PackResult | CountResult
export type LedgerResult = AccountResult | SweepResult

/** @throws if the result is of another operation, which is a bug */
export function expectResult<Kind extends LedgerResult['kind']>(
  result: LedgerResult,
  kind: Kind,
): Extract<LedgerResult, { readonly kind: Kind }> {
  if (result.kind !== kind) throw new Error(`expected a result of kind "${kind}", not "${result.kind}"`)
  return result as Extract<LedgerResult, { readonly kind: Kind }>
}
