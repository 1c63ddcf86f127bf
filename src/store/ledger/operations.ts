/**
 * What a ledger is asked and answers. Operations are flat tuples of plain values: structured cloning of objects would cost more than the
 * ledger's own statements.
 */
import type { PackKind, TurnState } from '../../membership/ledger.ts'
import type { Window } from '../../membership/plan.ts'
import type { Pool } from '../../membership/product.ts'
import type { Cut } from '../cuts.ts'
import type { AskedValues, NotedValues, ReportedValues } from '../turn-columns.ts'

export type ReserveOp = readonly [
  kind: 'reserve',
  dayStart: number,
  dayEnd: number,
  dayNextEnd: number,
  weekStart: number,
  weekEnd: number,
  weekNextEnd: number,
  monthStart: number,
  monthEnd: number,
  monthNextEnd: number,
  dayLimit: number,
  weekLimit: number,
  monthLimit: number,
  want: number,
  floor: number,
  until: number,
  concurrency: number,
  ...asked: AskedValues,
]

export type SettleOp = readonly [kind: 'settle', hold: number, noted: NotedValues | null, ...reported: ReportedValues]

export type RefundOp = readonly [kind: 'refund', hold: number, ...reported: ReportedValues]

export type GrantOp = readonly [
  kind: 'grant',
  id: string,
  account: string,
  packKind: PackKind,
  pool: Pool,
  credits: number,
  at: number,
  expiresAt: number,
]

export type CarryOp = readonly [
  kind: 'carry',
  account: string,
  pool: Pool,
  at: number,
  dayStart: number,
  dayEnd: number,
  dayUsed: number,
  weekStart: number,
  weekEnd: number,
  weekUsed: number,
  monthStart: number,
  monthEnd: number,
  monthUsed: number,
]

/** How a turn ends that was answered, or failed. */
export type EndingOp = SettleOp | RefundOp

/** What concerns one account, and is decided by its book alone. */
export type BookOp = ReserveOp | EndingOp | GrantOp | CarryOp

/** `except`: holds whose ending is known and only waits to be written. */
export type ExpireOp = readonly [kind: 'expire', at: number, ticks: number, except: readonly number[]]

/** Cuts an account's chain off, as `cuts.ts` has reckoned. */
export type CutOp = readonly [kind: 'cut', cut: Cut]

export type LedgerOp = BookOp | ExpireOp | CutOp

export type ReserveResult =
  | readonly [kind: 'held', id: number, credits: number]
  | readonly [kind: 'empty', resetsAt: number, window: Window]
  | readonly [kind: 'busy']
  | readonly [kind: 'crowded']
  | readonly [
      kind: 'duplicate',
      state: 'held' | 'settled',
      sameBody: boolean,
      requestId: string,
      aborted: boolean,
      credits: number,
    ]
export type EndingResult = readonly [kind: 'ended', done: boolean, state: TurnState, credits: number, debt: number]
export type PackResult = readonly [
  kind: 'pack',
  account: string,
  packKind: PackKind,
  pool: Pool,
  granted: number,
  reserved: number,
  settled: number,
  expiresAt: number,
  createdAt: number,
]
export type CountResult = readonly [kind: 'count', count: number]
/** `owed`: of dead processes' holds, how many had an ending in a journal, which they now have in the ledger. */
export type SweptResult = readonly [kind: 'swept', expired: number, owed: number]

export type BookResult = ReserveResult | EndingResult | PackResult | CountResult
export type LedgerResult = BookResult | SweptResult
