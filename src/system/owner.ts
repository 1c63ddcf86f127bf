/** Whose the files of a folder are. */
import { statSync } from 'node:fs'

export interface Owner {
  readonly uid: number
  readonly gid: number
}

/**
 * Who gets what root puts into this folder: the server runs as a user of its own, and could not open it. Undefined for everybody else,
 * and where the folder is root's.
 */
export function ownerOf(folder: string): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined
  const { uid, gid } = statSync(folder)
  return uid === 0 ? undefined : { uid, gid }
}
