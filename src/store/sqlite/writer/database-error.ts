/** Converts replies of the writer thread to results and errors, and tells which errors are retryable. */
import { GatewayError } from '../../../errors.ts'
import { diskFullRetrySeconds } from '../../database.ts'
import type { FaultResult, WriterReply, WriterResult } from '../connection/writer-protocol.ts'

/** Codes of a database that cannot be written at present, as opposed to a faulty statement. */
export const unwritableCodes = /^SQLITE_(FULL|READONLY|IOERR|BUSY|LOCKED|CANTOPEN|CORRUPT|NOTADB|PROTOCOL|NOMEM|PERM)/

/** A database error as the repositories see it. `code` is SQLite's own. */
export class DatabaseError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = 'DatabaseError'
    this.code = code
  }
}

/** Whether the writer could not execute the operation, or does not know its outcome; false if the operation itself was wrong. */
export function isRetryable(error: unknown): boolean {
  return error instanceof GatewayError
}

/** The WAL was not flushed, so an unknown part of it is on disk. */
export function isSyncFailure(error: unknown): boolean {
  const { cause = error } = error as { readonly cause?: unknown }
  return cause instanceof DatabaseError && cause.code === 'SQLITE_IOERR_FSYNC'
}

export function toError([, code, message]: FaultResult): Error {
  const error = new DatabaseError(code, message)
  return unwritableCodes.test(code) ? toRetryableError(error) : error
}

export const diskFullCode = 'SQLITE_FULL'

function isDiskFull(error: Error): boolean {
  return error instanceof DatabaseError && error.code === diskFullCode
}

/** For the caller: nothing was written, and a retry may succeed. */
export function toRetryableError(cause: Error): GatewayError {
  return isDiskFull(cause)
    ? new GatewayError('temporarily_unavailable', { retryAfter: diskFullRetrySeconds, cause })
    : new GatewayError('internal_error', { retryAfter: 1, cause })
}

/** The first result. @throws if it is a fault */
export function unwrapReply([results]: WriterReply): WriterResult | undefined {
  const [first] = results
  if (first?.[0] === 'fault') throw toError(first)
  return first
}
