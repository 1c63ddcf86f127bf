/** What an error of the driver means for the connection it came on, and for whoever asked. */
import { DatabaseError } from 'pg'
import { GatewayError } from '../../errors.ts'

/** Two transactions came into each other's way; this one is undone, and may be done again. */
export function isConflict(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '40001' || error.code === '40P01')
}

/** A check of ours refuses what was to be written: another node has written meanwhile. */
export function isStale(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '22012'
}

/** Somebody else has what it would have had to wait for; nothing was done. */
export function isInUse(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '55P03'
}

/** The server takes no writes, because another one does now: nothing was done. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '25006'
}

/** The statement was wrong, or refused by a constraint; the connection is what it was. */
export function isOfTheStatement(error: unknown): boolean {
  // A number past what is exact is found when the answer is read.
  if (error instanceof RangeError) return true
  return error instanceof DatabaseError && /^(?:22|23|40|42|P0)/.test(error.code ?? '')
}

/** Nobody answers any more, or nobody who could: another server may. */
export function isLost(error: unknown): boolean {
  if (error instanceof RangeError) return false
  return !(error instanceof DatabaseError) || /^(?:08|25006|57P0)/.test(error.code ?? '')
}

/** Whether what a caller heard means that no server could be reached, or none that takes writes. */
export function isAway(error: unknown): boolean {
  return error instanceof GatewayError && isLost(error.cause)
}

/** As whoever asked hears it: that the database is not to be had now is no fault of theirs, and they may try again. */
export function toCaller(error: unknown): unknown {
  if (error instanceof GatewayError || isOfTheStatement(error)) return error
  return new GatewayError('temporarily_unavailable', { retryAfter: 1, cause: error })
}

/** What the ledger says while it cannot be had. */
export function unavailable(cause?: Error): GatewayError {
  return new GatewayError('temporarily_unavailable', { retryAfter: 2, cause })
}
