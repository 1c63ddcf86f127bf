import { stat } from 'node:fs/promises'

/** Device and inode: distinguishes a file from another one at the same path. Null if there is no file. */
export type FileIdentity = string | null

/** @throws if it cannot be determined whether the file exists */
export async function readFileIdentity(file: string): Promise<FileIdentity> {
  try {
    const { dev, ino } = await stat(file, { bigint: true })
    return `${dev}:${ino}`
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
