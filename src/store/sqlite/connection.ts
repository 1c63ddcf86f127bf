/** Opening a file the way every connection of ours has it. The only place, with the threads, that knows the driver. */
import Sqlite from 'better-sqlite3'
import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { Unusable, whyNot } from '../../system/unusable.ts'
import { patiently } from './patience.ts'

export type Connection = Sqlite.Database

/** Waits this long for another process's lock before an operation is refused. */
export const defaultBusyTimeoutMs = 5000
/** A page that many commits change is copied into the database once for all of them; these are 32 MiB of log. */
export const defaultCheckpointPages = 8000

/** `svcg` as a number, in the database's own head: whose it is, for us and for the program `file`. */
const applicationId = 0x73_76_63_67

/**
 * The database and its folder belong to the service's user alone: it holds addresses and hashes of keys.
 * @throws Unusable
 */
export function prepareFile(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    closeSync(openSync(file, 'a', 0o600))
    chmodSync(file, 0o600)
  } catch (error) {
    throw new Unusable(`${file} cannot be written: ${whyNot(error)}.`, { cause: error })
  }
}

/** `mayBeNew`: whether a database without anything in it is one to begin with, or the remains of one that was lost. */
export function openForWriting(file: string, busyTimeoutMs: number, mayBeNew: boolean): Connection {
  const db = new Sqlite(file, { timeout: busyTimeoutMs })
  patiently(busyTimeoutMs, () => claim(db, mayBeNew))
  patiently(busyTimeoutMs, () => db.pragma('journal_mode = wal'))
  db.pragma('synchronous = full')
  db.pragma('foreign_keys = on')
  db.pragma('cache_size = -65536')
  db.pragma(`wal_autocheckpoint = ${defaultCheckpointPages}`)
  // A long reader lets the log grow; give the space back once it is gone.
  db.pragma('journal_size_limit = 67108864')
  return db
}

export function openForReading(file: string, busyTimeoutMs: number): Connection {
  return new Sqlite(file, { timeout: busyTimeoutMs, readonly: true, fileMustExist: true })
}

/** Refuses a database that is not ours before anything in it is changed, and marks ours. */
function claim(db: Connection, mayBeNew: boolean): void {
  const mark = (): unknown => db.pragma('application_id', { simple: true })
  const has = (condition: string): boolean =>
    db.prepare(`select exists (select 1 from sqlite_schema ${condition})`).pluck().get() === 1
  if (mark() === applicationId && has('')) return
  db.transaction(() => {
    if (!has('')) {
      if (!mayBeNew) throw new Error('it is empty, though there was a database here. Restore a backup')
    } else if (mark() !== applicationId && (mark() !== 0 || !has(`where type = 'table' and name = 'migration'`))) {
      throw new Error('it is a database of another program, and was left as it is')
    }
    db.pragma(`application_id = ${applicationId}`)
  }).immediate()
}
