/** Opens a database file with the settings that every connection needs. Only this file and the worker threads import the driver. */
import Sqlite from 'better-sqlite3'
import { chmodSync, closeSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { createFolder } from '../../../system/data-folder/create-folder.ts'
import { OperatorError, describeSystemError } from '../../../system/operator-error.ts'
import { retryWhileBusy } from './busy-retry.ts'

export type Connection = Sqlite.Database

/** How long an operation waits for another process's lock before it fails. */
export const defaultBusyTimeoutMs = 5000
/** Pages in the WAL that start a checkpoint (32 MiB). A page that many commits change is then copied to the database once. */
export const defaultCheckpointPages = 8000

/** `svcg` as a number, in the database header: identifies our databases, also to the program `file`. */
const applicationId = 0x73_76_63_67

/**
 * Creates the database file and its folder, readable by the service's user only: it holds addresses and key hashes.
 * @throws OperatorError
 */
export function prepareFile(file: string): void {
  try {
    createFolder(dirname(file), 0o700)
    closeSync(openSync(file, 'a', 0o600))
    chmodSync(file, 0o600)
  } catch (error) {
    throw new OperatorError(`${file} cannot be written: ${describeSystemError(error)}.`, { cause: error })
  }
}

/** `allowCreate`: whether an empty database may be initialised; otherwise it is taken for the remains of a lost one and refused. */
export function openForWriting(file: string, busyTimeoutMs: number, allowCreate: boolean): Connection {
  const db = new Sqlite(file, { timeout: busyTimeoutMs })
  retryWhileBusy(busyTimeoutMs, () => claimFile(db, allowCreate))
  retryWhileBusy(busyTimeoutMs, () => db.pragma('journal_mode = wal'))
  db.pragma('synchronous = full')
  db.pragma('foreign_keys = on')
  // What is deleted is overwritten, in free pages too: an erased address must not remain in the file.
  db.pragma('secure_delete = on')
  db.pragma('cache_size = -65536')
  db.pragma(`wal_autocheckpoint = ${defaultCheckpointPages}`)
  // Truncates the WAL after a long reader had let it grow.
  db.pragma('journal_size_limit = 67108864')
  return db
}

export function openForReading(file: string, busyTimeoutMs: number): Connection {
  return new Sqlite(file, { timeout: busyTimeoutMs, readonly: true, fileMustExist: true })
}

/** Refuses a foreign database before anything in it changes, and marks an empty one as ours. */
function claimFile(db: Connection, allowCreate: boolean): void {
  const readApplicationId = (): unknown => db.pragma('application_id', { simple: true })
  const hasSchemaEntry = (condition: string): boolean =>
    db.prepare(`select exists (select 1 from sqlite_schema ${condition})`).pluck().get() === 1
  if (readApplicationId() === applicationId && hasSchemaEntry('')) return
  db.transaction(() => {
    if (!hasSchemaEntry('')) {
      if (!allowCreate) throw new Error('it is empty, although a database was here before. Restore a backup')
    } else if (
      readApplicationId() !== applicationId &&
      (readApplicationId() !== 0 || !hasSchemaEntry(`where type = 'table' and name = 'migration'`))
    ) {
      throw new Error('it is a database of another program, and was left as it is')
    }
    db.pragma(`application_id = ${applicationId}`)
  }).immediate()
}
