/**
 * Ensures one server per database: an SQLite lock on a side file. The kernel releases it when the process dies, so the lock of a
 * killed server is free at once, and a suspended server keeps its lock.
 */
import Sqlite from 'better-sqlite3'
import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { OperatorError, describeSystemError } from '../../../system/operator-error.ts'
import type { Connection } from '../connection/connection.ts'
import { parseJson } from '../../../system/parse-json.ts'

/** Two servers that start at the same moment block each other briefly; this is long enough for one of them to win. */
const startRaceMs = 250

export class ServerLock {
  readonly #lock: Connection
  readonly #ownerFile: string

  private constructor(lock: Connection, ownerFile: string) {
    this.#lock = lock
    this.#ownerFile = ownerFile
  }

  /** @throws OperatorError with a sentence that names the process that holds the lock */
  static acquire(database: string, pid: number, at: number): ServerLock {
    const file = getServerLockPath(database)
    const ownerFile = `${database}.server`
    let serverLock: ServerLock | undefined
    try {
      serverLock = new ServerLock(acquireLock(file, ownerFile), ownerFile)
      // For people only: the lock decides, whatever this file says.
      writeFileSync(ownerFile, JSON.stringify({ pid, host: hostname(), since: new Date(at).toISOString() }), { mode: 0o600 })
      return serverLock
    } catch (error) {
      serverLock?.release()
      throw error instanceof OperatorError
        ? error
        : new OperatorError(`${file} cannot be written: ${describeSystemError(error)}.`, { cause: error })
    }
  }

  release(): void {
    if (!this.#lock.open) return
    for (const file of [this.#ownerFile, this.#lock.name]) rmSync(file, { force: true })
    this.#lock.close()
  }
}

export function getServerLockPath(database: string): string {
  return `${database}.server-lock`
}

/**
 * Acquires the lock of the file that has this name now: the previous owner may have removed its file while this process waited
 * for it.
 */
function acquireLock(file: string, ownerFile: string): Connection {
  for (;;) {
    createLockFile(file)
    const before = readInode(file)
    const lock = new Sqlite(file, { timeout: startRaceMs })
    try {
      lock.exec('begin exclusive')
    } catch (error) {
      lock.close()
      if (error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY')) throw createLockedError(ownerFile)
      // SQLite reports a file that was removed meanwhile as unreadable.
      if (before !== readInode(file)) continue
      throw error
    }
    if (before !== undefined && before === readInode(file)) return lock
    lock.close()
  }
}

function readInode(file: string): bigint | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false })?.ino
}

/** Never opens an existing file: closing it again would drop the POSIX locks that SQLite holds on it for this process. */
function createLockFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function createLockedError(ownerFile: string): OperatorError {
  return new OperatorError(
    `Another server works on this data: ${describeOwner(ownerFile)}. Stop that one first, or give this one a DATA_DIR of its own.`,
  )
}

function describeOwner(ownerFile: string): string {
  try {
    const { pid, host, since } = parseJson(readFileSync(ownerFile, 'utf8')) as { pid: number; host: string; since: string }
    return `process ${pid}, since ${since}${host === hostname() ? '' : `, on ${host}`}`
  } catch {
    // The owner file is written shortly after the lock is taken.
    return 'a process that has just started'
  }
}
