/**
 * The one place a server has at a database: the lock of a small file beside it, kept as long as the process lives. The operating system
 * lets go of it when the process ends, however it ends, so a killed server's place is free at once, and one that is only asleep keeps its own.
 */
import Sqlite from 'better-sqlite3'
import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { Unusable, whyNot } from '../../system/unusable.ts'
import type { Connection } from './connection.ts'

/** Two that start in the same moment stand in each other's way for an instant; then one of them has it. */
const togetherMs = 250

export class Place {
  readonly #lock: Connection
  readonly #card: string

  private constructor(lock: Connection, card: string) {
    this.#lock = lock
    this.#card = card
  }

  /** @throws Unusable with a sentence that names the process which has it */
  static take(database: string, pid: number, at: number): Place {
    const file = lockBeside(database)
    const card = `${database}.server`
    let place: Place | undefined
    try {
      place = new Place(lockOf(file, card), card)
      // For people: who has the place is what the lock says, whoever is named here.
      writeFileSync(card, JSON.stringify({ pid, host: hostname(), since: new Date(at).toISOString() }), { mode: 0o600 })
      return place
    } catch (error) {
      place?.release()
      throw error instanceof Unusable ? error : new Unusable(`${file} cannot be written: ${whyNot(error)}.`, { cause: error })
    }
  }

  release(): void {
    if (!this.#lock.open) return
    for (const file of [this.#card, this.#lock.name]) rmSync(file, { force: true })
    this.#lock.close()
  }
}

export function lockBeside(database: string): string {
  return `${database}.server-lock`
}

/** The lock that is found under this name by all others: whoever had it before may have taken its file away while we waited for it. */
function lockOf(file: string, card: string): Connection {
  for (;;) {
    make(file)
    const before = inodeOf(file)
    const lock = new Sqlite(file, { timeout: togetherMs })
    try {
      lock.exec('begin exclusive')
    } catch (error) {
      lock.close()
      if (error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY')) throw taken(card)
      // Of a file that was taken away while we waited SQLite says that it cannot be read.
      if (before !== inodeOf(file)) continue
      throw error
    }
    if (before !== undefined && before === inodeOf(file)) return lock
    lock.close()
  }
}

function inodeOf(file: string): bigint | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false })?.ino
}

/** Never opened by us where it is there: closing it again would let go of what SQLite has locked in it for this very process. */
function make(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function taken(card: string): Unusable {
  return new Unusable(
    `Another server works on this data: ${whoFrom(card)}. Stop that one first, or give this one a DATA_DIR of its own.`,
  )
}

function whoFrom(card: string): string {
  try {
    const { pid, host, since } = JSON.parse(readFileSync(card, 'utf8')) as { pid: number; host: string; since: string }
    return `process ${pid}, since ${since}${host === hostname() ? '' : `, on ${host}`}`
  } catch {
    // Between taking the lock and writing the card there is a moment.
    return 'a process that has just started'
  }
}
