/** Whether anybody works on a database, of whatever version: by the locks that they keep beside it. */
import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { Unusable, whyNot } from '../../system/unusable.ts'
import { lockBeside } from './place.ts'

/** A server has its place before it is one of the processes, while it is still waiting for the database or bringing it up to date. */
export function isInUse(file: string): boolean {
  const place = lockBeside(file)
  return (existsSync(place) && isLocked(place)) || isUsedByProcess(file)
}

/** Each process that uses a database keeps the lock of a small file beside it, however it was started. */
export function isUsedByProcess(file: string): boolean {
  return existsSync(dirname(file)) && processLocks(file).some(isLocked)
}

function processLocks(file: string): readonly string[] {
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
    // A full disk, say, is nobody's lock.
    if (error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY')) return true
    throw new Unusable(`${file} cannot be written: ${whyNot(error)}.`, { cause: error })
  } finally {
    lock.close()
  }
}
