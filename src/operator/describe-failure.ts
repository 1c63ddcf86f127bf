/** The failure of a command or of a start, as the operator reads it. */
import { LastOwnerError } from '../domain/identity/operators/operator.ts'
import { ConfigError, describeConfigError } from '../config/config.ts'
import { OperatorError, describeThrown } from '../system/operator-error.ts'

/** Expected errors are sentences; only a bug has a stack. */
export function describeFailure(error: unknown): string {
  if (error instanceof ConfigError) return describeConfigError(error)
  if (error instanceof OperatorError || error instanceof LastOwnerError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : describeThrown(error)
}
