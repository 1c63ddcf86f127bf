/** Tells whether a process of any version uses a database, by the locks on the files beside it. */
import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { OperatorError, describeSystemError } from '../../../system/operator-error.ts'
import { getServerLockPath } from './server-lock.ts'

/** A server takes its lock before it registers as a process: it may still wait for the database or migrate it. */
export function isInUse(file: string): boolean {
  const serverLock = getServerLockPath(file)
  return (existsSync(serverLock) && isLocked(serverLock)) || isUsedByProcess(file)
}

/** Every process that uses a database, servers and commands, holds the lock of a small file beside it. */
export function isUsedByProcess(file: string): boolean {
  return existsSync(dirname(file)) && listProcessLocks(file).some(isLocked)
}

function listProcessLocks(file: string): readonly string[] {
  return readdirSync(dirname(file))
    .filter((name) => name.startsWith(`${basename(file)}.process-`) && !name.endsWith('-journal'))
    .map((name) => join(dirname(file), name))
}

function isLocked(file: string): boolean {
  const lock = new Sqlite(file, { timeout: 0 })
  try {
    lock.exec('begin exclusive; rollback')
    return false
  } catch (error) {
    // Other errors, such as a full disk, do not mean that the file is locked.
    if (error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY')) return true
    throw new OperatorError(`${file} cannot be written: ${describeSystemError(error)}.`, { cause: error })
  } finally {
    lock.close()
  }
}
