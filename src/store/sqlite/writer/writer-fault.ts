/** Errors of SQLite in the writer thread, and how they are sent to its clients. */
import Sqlite from 'better-sqlite3'
import type { FaultResult } from '../connection/writer-protocol.ts'

/** Errors after which trying the operations one by one would fail, and wait, each time. A damaged page concerns one account only. */
export function failsWholeBatch(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && !/^SQLITE_(CONSTRAINT|CORRUPT|ERROR$)/.test(error.code)
}

/** SQLite's own error for a failed flush: the caller may retry. */
export function createSyncError(reason?: unknown): Error {
  const why = reason instanceof Error ? `: ${reason.message}` : ''
  return new Sqlite.SqliteError(`the log could not be flushed${why}`, 'SQLITE_IOERR_FSYNC')
}

export function toFault(error: unknown): FaultResult {
  const code = error instanceof Sqlite.SqliteError ? error.code : 'ERROR'
  return ['fault', code, error instanceof Error ? error.message : String(error)]
}
