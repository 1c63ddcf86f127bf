/** The owner of a folder's files. */
import { statSync } from 'node:fs'

export interface Owner {
  readonly uid: number
  readonly gid: number
}

/**
 * The owner that files created in this folder by root must get: the server runs as a user of its own and could not open root's files.
 * Undefined if this process is not root, or if the folder is root's.
 */
export function findFolderOwner(folder: string): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined
  const { uid, gid } = statSync(folder)
  return uid === 0 ? undefined : { uid, gid }
}
