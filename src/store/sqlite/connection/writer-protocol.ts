/**
 * Messages between a writer and its thread. Each port has at most one request in flight and each request one reply; the thread
 * also reports when a commit is on disk. The process's own port also controls the thread and attaches the ports of other worker
 * threads.
 */
import type { MessagePort } from 'node:worker_threads'
import type { EncodedOperation, EncodedResult } from '../../ledger/operation-codec.ts'

/** Start options of the writer thread. */
export interface WriterOptions {
  readonly file: string
  /** How long to wait for a lock that another process holds. */
  readonly busyTimeoutMs: number
  /** Whether an empty file may become a database. */
  readonly allowCreate: boolean
  /** Number of WAL pages that starts a checkpoint. */
  readonly checkpointPages: number
}

/** Any statement of the repositories. */
export type SqlOp = readonly [kind: 'sql', text: string, parameters: readonly unknown[]]

export type WriterOp = EncodedOperation | SqlOp

/** All operations in one commit, which batches of other ports may share, followed by a flush if `durable`. */
export type BatchRequest = readonly [kind: 'batch', durable: boolean, ops: readonly WriterOp[]]

/**
 * `begin` to `rollback` drive a transaction that spans
 * several requests.
 */
export type WriterRequest =
  | readonly [kind: 'open']
  | BatchRequest
  | readonly [kind: 'begin']
  | readonly [kind: 'query', op: SqlOp]
  | readonly [kind: 'commit']
  | readonly [kind: 'rollback']
  /** `threads`: names of the process's other threads that own holds. */
  | readonly [kind: 'register', name: string, pid: number, at: number, threads: readonly string[]]
  /** Registers another thread of this process: its requests arrive on `line`, and it owns its holds under `name`. */
  | readonly [kind: 'attach', name: string, line: MessagePort, pid: number, at: number]
  /** That thread has ended. All its requests have been executed; its holds are settled as its journal says, or released. */
  | readonly [kind: 'release', name: string, at: number]
  | readonly [kind: 'close']

export type RowsResult = readonly [kind: 'rows', rows: readonly unknown[], changes: number, lastId: number | bigint]
export type FaultResult = readonly [kind: 'fault', code: string, message: string]

export type WriterResult = EncodedResult | RowsResult | FaultResult

/**
 * `seconds`: of the commit, 0 for batches that share one but for the first. `synced`: the commit waited for the disk. `holdsOpen`: open holds of the whole database, as counted by this thread. `flush`:
 * number of the flush after which the results are durable; 0 if there is nothing to wait for, because nothing was written or the
 * flush was part of the commit and took `flushSeconds`.
 */
export type WriterReply = readonly [
  results: readonly WriterResult[],
  seconds: number,
  synced: boolean,
  holdsOpen: number,
  flush: number,
  flushSeconds: number,
]

/**
 * Sent without a request, after the replies concerned: all flushes up to `upTo` have ended. If one failed, the data is durable
 * only if `mended`, that is, if the WAL was rewritten.
 */
export type FlushedMessage = readonly [kind: 'flushed', upTo: number, seconds: number, fault: FaultResult | null, mended: boolean]
