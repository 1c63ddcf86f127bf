/** What a reply of the writer's thread means for whoever asked: an answer, an error of theirs, or that it can be tried again. */
import { GatewayError } from '../../errors.ts'
import type { FaultResult, Reply, Result } from './protocol.ts'

/** Codes that say the database cannot be written just now, as against a statement that was wrong. */
export const unwritable = /^SQLITE_(FULL|READONLY|IOERR|BUSY|LOCKED|CANTOPEN|CORRUPT|NOTADB|PROTOCOL|NOMEM|PERM)/

/** A database error as the repositories see it: `code` is SQLite's own. */
export class DatabaseError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = 'DatabaseError'
    this.code = code
  }
}

/** Whether the writer could not do it now, or cannot tell whether it did; not that the operation was wrong. */
export function isRefusal(error: unknown): boolean {
  return error instanceof GatewayError
}

/** The disk has not taken the log, so nobody can say how much of it is there. */
export function isNotFlushed(error: unknown): boolean {
  const { cause = error } = error as { readonly cause?: unknown }
  return cause instanceof DatabaseError && cause.code === 'SQLITE_IOERR_FSYNC'
}

export function toError([, code, message]: FaultResult): Error {
  const error = new DatabaseError(code, message)
  return unwritable.test(code) ? refused(error) : error
}

/** The caller may try again: nothing has been written. */
export function refused(cause: Error): GatewayError {
  return new GatewayError('internal_error', { retryAfter: 1, cause })
}

/** The first result; throws where that is a fault. */
export function answer([results]: Reply): Result | undefined {
  const [first] = results
  if (first?.[0] === 'fault') throw toError(first)
  return first
}
