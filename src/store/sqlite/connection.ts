/** Opening a file the way every connection of ours has it. The only place, with the threads, that knows the driver. */
import Sqlite from 'better-sqlite3'
import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { patiently } from './patience.ts'

export type Connection = Sqlite.Database

/** Waits this long for another process's lock before an operation is refused. */
export const defaultBusyTimeoutMs = 5000

/** The database and its folder belong to the service's user alone: it holds addresses and hashes of keys. */
export function prepareFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  closeSync(openSync(file, 'a', 0o600))
  chmodSync(file, 0o600)
}

export function openForWriting(file: string, busyTimeoutMs: number): Connection {
  const db = new Sqlite(file, { timeout: busyTimeoutMs })
  patiently(busyTimeoutMs, () => db.pragma('journal_mode = wal'))
  db.pragma('synchronous = full')
  db.pragma('foreign_keys = on')
  db.pragma('cache_size = -65536')
  // A page that many commits change is copied into the database once for all of them; 8000 pages are 32 MiB of log.
  db.pragma('wal_autocheckpoint = 8000')
  // A long reader lets the log grow; give the space back once it is gone.
  db.pragma('journal_size_limit = 67108864')
  return db
}

export function openForReading(file: string, busyTimeoutMs: number): Connection {
  return new Sqlite(file, { timeout: busyTimeoutMs, readonly: true, fileMustExist: true })
}
