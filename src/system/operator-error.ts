/**
 * A fault of this machine that the operator must fix: a folder, a file, a disk. The message is one sentence for the operator; the stack
 * is not printed, because it does not help to fix the fault.
 */
export class OperatorError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'OperatorError'
  }
}

/** A command found no installation in the database; only a start makes one. */
export class MissingInstallationError extends OperatorError {}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission',
  EPERM: 'this user has no permission',
  EROFS: 'its file system is read-only; a service of systemd needs ReadWritePaths= for the folder',
  ENOSPC: 'the disk is full',
  EDQUOT: "this user's disk quota is exhausted",
  ENOTDIR: 'a part of its path is not a folder',
  EISDIR: 'it is a folder',
}

/** Describes a system error in words, with its code. */
export function describeSystemError(error: unknown): string {
  const { code } = Object(error) as NodeJS.ErrnoException
  const reason = code === undefined ? undefined : reasons[code]
  return reason === undefined ? describeThrown(error) : `${reason} (${code})`
}

/** Of an object that is no error only the message: its other values may be secrets. */
export function describeThrown(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return String(thrown)
  const { message, name } = thrown as { readonly message?: unknown; readonly name?: unknown }
  if (typeof message === 'string' && message !== '') return message
  return thrown instanceof Error ? String(name) : 'an object without a message was thrown; throw an Error'
}
