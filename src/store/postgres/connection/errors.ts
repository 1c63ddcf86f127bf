/** Classifies the driver's errors: what they mean for the connection and for the caller. */
import { DatabaseError } from 'pg'
import { GatewayError } from '../../../errors.ts'
import { diskFullRetrySeconds } from '../../database.ts'

/** The server has no room for the rows: nothing was done, and an administrator has to make room. */
export function isDiskFull(error: unknown): boolean {
  if (error instanceof GatewayError) return isDiskFull(error.cause)
  // At the beginning of a session the server may fail to write a file of its own, which has no code.
  return error instanceof DatabaseError && (error.code === '53100' || error.message === 'could not write init file')
}

/** Serialization failure or deadlock: the transaction was rolled back and may be repeated. */
export function isTransactionConflict(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '40001' || error.code === '40P01')
}

/** A check in our statement failed: another node has written the rows meanwhile. */
export function isWriteConflict(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '22012'
}

/** Another transaction holds the lock (`nowait` or lock timeout); nothing was done. */
export function isLockUnavailable(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '55P03'
}

/** The server is a standby now; nothing was done. */
export function isReadOnlyServer(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '25006'
}

/**
 * A named statement is missing on the server connection, or another one has its name: a pooler has changed the server connection.
 * Nothing was done, and the transaction can be repeated without names.
 */
export function isPreparedStatementError(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '42P05' || error.code === '26000')
}

/** The statement was wrong, or refused by a constraint; the connection is usable. */
export function isStatementError(error: unknown): boolean {
  // Thrown by the parser for an integer that is not exact.
  if (error instanceof RangeError) return true
  return error instanceof DatabaseError && /^(?:22|23|40|42(?!P05)|P0)/.test(error.code ?? '')
}

/** The server did not answer, or is shutting down: another server may be reachable. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof RangeError) return false
  return !(error instanceof DatabaseError) || /^(?:08|25006|57P0)/.test(error.code ?? '')
}

/** The server's certificate was refused: another attempt changes nothing. */
export function isCertificateError(error: unknown): boolean {
  const { code, cause } = error as { code?: string; cause?: unknown }
  return /CERT|LEAF_SIGNATURE/.test(code ?? '') || (cause !== undefined && isCertificateError(cause))
}

/** PgBouncer's refusals and `createPoolerTimeoutError` have no code of their own. */
const noFreeConnection = /query_wait_timeout|no more connections allowed|waited too long for a server connection/

/** The driver's own timeout: the server may still be at work. */
export function isReadTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}

/** The error of a session that a pooler accepted and gave no connection to the server. */
export function createPoolerTimeoutError(cause?: unknown): Error {
  return new Error('waited too long for a server connection of the pooler', { cause })
}

/** The server, the database, the role or the pooler before them had no free connection: an existing connection still works. */
export function lacksConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, message, cause } = error as Error & { readonly code?: unknown }
  return code === '53300' || noFreeConnection.test(message) || lacksConnection(cause)
}

/** Whether a caller's error means that no server could be reached, none that accepts writes, or none with a free connection. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof GatewayError && (isConnectionLost(error.cause) || lacksConnection(error.cause))
}

/** The error for the caller: an unavailable database is not the caller's fault and may be retried. */
export function toCallerError(error: unknown): unknown {
  if (error instanceof GatewayError || isStatementError(error)) return error
  return new GatewayError('temporarily_unavailable', { retryAfter: isDiskFull(error) ? diskFullRetrySeconds : 1, cause: error })
}

/** The ledger's error while the database is unavailable, or its disk full. */
export function createUnavailableError(cause?: Error, isFull = false): GatewayError {
  return new GatewayError('temporarily_unavailable', { retryAfter: isFull ? diskFullRetrySeconds : 2, cause })
}
