import { stat } from 'node:fs/promises'

/** What tells a file from another one at the same path; null where there is none. */
export type FileIdentity = string | null

/** @throws where it cannot be seen whether there is one */
export async function identityOf(file: string): Promise<FileIdentity> {
  try {
    const { dev, ino } = await stat(file, { bigint: true })
    return `${dev}:${ino}`
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
