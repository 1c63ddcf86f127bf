/**
 * Something on this machine that the service cannot work with: a folder, a file, a disk. The message is one sentence for the operator;
 * where it came from in the code helps nobody to mend it, so nobody prints the stack.
 */
export class Unusable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'Unusable'
  }
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not',
  EPERM: 'this user may not',
  EROFS: 'it is on a file system that can only be read',
  ENOSPC: 'the disk is full',
  EDQUOT: "this user's share of the disk is full",
  ENOTDIR: 'a part of its path is no folder',
  EISDIR: 'it is a folder',
}

/** Why the system said no, in words, with its code for whoever looks it up. */
export function whyNot(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined) return error instanceof Error ? error.message : String(error)
  const reason = reasons[code]
  return reason === undefined ? (error as Error).message : `${reason} (${code})`
}
