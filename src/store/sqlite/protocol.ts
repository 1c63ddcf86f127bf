/**
 * What a writer and its thread say to each other: one request, one reply, never two requests at once on one line; and when the disk has
 * what was replied. The process's own line steers the thread, and brings the lines of its other threads.
 * Operations are flat tuples of plain values: structured cloning of objects would cost more than the ledger's own statements.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Window } from '../../membership/plan.ts'
import type { PackKind, TurnState } from '../../membership/ledger.ts'
import type { Pool } from '../../membership/product.ts'
import type { Cut } from '../cuts.ts'
import type { askedColumns, notedColumns, reportedColumns, ValuesOf } from '../turn-columns.ts'

/** What the thread is started with. */
export interface WriterOptions {
  readonly file: string
  /** Milliseconds to wait for a lock that another process holds. */
  readonly busyTimeoutMs: number
  /** Whether a database without anything in it may become one. */
  readonly mayBeNew: boolean
}

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
  ...asked: ValuesOf<typeof askedColumns>,
]

export type SettleOp = readonly [
  kind: 'settle',
  hold: number,
  noted: ValuesOf<typeof notedColumns> | null,
  ...reported: ValuesOf<typeof reportedColumns>,
]

export type RefundOp = readonly [kind: 'refund', hold: number, ...reported: ValuesOf<typeof reportedColumns>]

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

/** How a turn ends that was answered, or failed. */
export type EndingOp = SettleOp | RefundOp

/** `except`: holds whose ending is known and only waits to be written. */
export type ExpireOp = readonly [kind: 'expire', at: number, ticks: number, except: readonly number[]]

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

/** Cuts an account's chain off, as `cuts.ts` has reckoned. */
export type CutOp = readonly [kind: 'cut', cut: Cut]

/** Any statement of the repositories. `rows` says whether it returns some. */
export type SqlOp = readonly [kind: 'sql', text: string, parameters: readonly unknown[]]

export type Op = ReserveOp | SettleOp | RefundOp | GrantOp | CarryOp | ExpireOp | CutOp | SqlOp

/** `batch`: all in one commit, with a flush to wait for when `durable`. The others steer a transaction that spans several requests. */
export type Request =
  | readonly [kind: 'open']
  | readonly [kind: 'batch', durable: boolean, ops: readonly Op[]]
  | readonly [kind: 'begin']
  | readonly [kind: 'query', op: SqlOp]
  | readonly [kind: 'commit']
  | readonly [kind: 'rollback']
  /** `threads`: those of the process's threads that own holds of their own, by name. */
  | readonly [kind: 'enrol', name: string, pid: number, at: number, threads: readonly string[]]
  /** Another thread of this process is heard on this line, and owns what it holds under this name. */
  | readonly [kind: 'attach', name: string, line: MessagePort, pid: number, at: number]
  /** That thread has ended: all that it has said is done, and what it held ends as it knew, or is given back. */
  | readonly [kind: 'release', name: string, at: number]
  | readonly [kind: 'close']

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
export type RowsResult = readonly [kind: 'rows', rows: readonly unknown[], changes: number, lastId: number | bigint]
export type FaultResult = readonly [kind: 'fault', code: string, message: string]

export type Result = ReserveResult | EndingResult | PackResult | CountResult | SweptResult | RowsResult | FaultResult

/**
 * `synced`: the commit waited for the disk. `holdsOpen`: of the whole database, as far as this thread knows. `flush`: what was to be
 * durable is so once this flush is said to be done; 0 where nothing has to wait.
 */
export type Reply = readonly [results: readonly Result[], seconds: number, synced: boolean, holdsOpen: number, flush: number]

/** Unasked, after the replies concerned: all flushes up to this one are done. Where one failed, all is durable only if the log was mended. */
export type Flushed = readonly [kind: 'flushed', upTo: number, seconds: number, fault: FaultResult | null, mended: boolean]
