/** Records that a server accepts requests, before it does. An upgrade goes back by itself only without that record: nothing was sold then. */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import type { DataFolder } from '../system/data-folder/data-folder.ts'
import { OperatorError, describeSystemError } from '../system/operator-error.ts'
import { readVersion } from '../system/version.ts'

/** @param listen resolves when requests are accepted; where it rejects, none were */
export async function recordServing<Result>(
  { hasServed: file }: Pick<DataFolder, 'hasServed'>,
  listen: () => Promise<Result>,
): Promise<Result> {
  if (existsSync(file)) return listen()
  try {
    writeFileSync(file, `${readVersion()}\n`, { mode: 0o600, flush: true })
  } catch (error) {
    throw new OperatorError(`${file} cannot be written: ${describeSystemError(error)}.`, { cause: error })
  }
  return listen().catch((error: unknown) => {
    rmSync(file, { force: true })
    throw error
  })
}
