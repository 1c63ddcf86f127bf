/**
 * What a writer and its thread say to each other: one request, one reply, never two requests at once on one line; and when the disk has
 * what was replied. The process's own line steers the thread, and brings the lines of its other threads.
 */
import type { MessagePort } from 'node:worker_threads'
import type { LedgerOp, LedgerResult } from '../ledger/operations.ts'

/** What the thread is started with. */
export interface WriterOptions {
  readonly file: string
  /** Milliseconds to wait for a lock that another process holds. */
  readonly busyTimeoutMs: number
  /** Whether a database without anything in it may become one. */
  readonly mayBeNew: boolean
  /** After so many pages of the log they are taken into the database. */
  readonly checkpointPages: number
}

/** Any statement of the repositories. `rows` says whether it returns some. */
export type SqlOp = readonly [kind: 'sql', text: string, parameters: readonly unknown[]]

export type Op = LedgerOp | SqlOp

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

export type RowsResult = readonly [kind: 'rows', rows: readonly unknown[], changes: number, lastId: number | bigint]
export type FaultResult = readonly [kind: 'fault', code: string, message: string]

export type Result = LedgerResult | RowsResult | FaultResult

/**
 * `synced`: the commit waited for the disk. `holdsOpen`: of the whole database, as far as this thread knows. `flush`: what was to be
 * durable is so once this flush is said to be done; 0 where nothing has to wait, because there was nothing or it took these `flushSeconds`.
 */
export type Reply = readonly [
  results: readonly Result[],
  seconds: number,
  synced: boolean,
  holdsOpen: number,
  flush: number,
  flushSeconds: number,
]

/** Unasked, after the replies concerned: all flushes up to this one are done. Where one failed, all is durable only if the log was mended. */
export type Flushed = readonly [kind: 'flushed', upTo: number, seconds: number, fault: FaultResult | null, mended: boolean]
