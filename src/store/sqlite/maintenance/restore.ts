/** Replaces the database by a backup: verifies the backup first, deletes nothing, and refuses while a process uses the database. */
import { chmodSync, chownSync, copyFileSync, existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import Sqlite from 'better-sqlite3'
import type { Verification } from '../../../domain/billing/ledger.ts'
import { findFolderOwner } from '../../../system/data-folder/folder-owner.ts'
import { OperatorError, describeSystemError } from '../../../system/operator-error.ts'
import { isUpToDate, transferInProgress } from '../../migrations/migrate.ts'
import type { Migration } from '../../migrations/migration.ts'
import { migrations as currentMigrations } from '../../migrations/migrations.ts'
import { unusedFileName, syncPath } from './backup.ts'
import { migrateFile, readMigrationNames } from './migrate-file.ts'
import { defaultBusyTimeoutMs, openForReading, prepareFile } from '../connection/connection.ts'
import { isInUse, isUsedByProcess } from '../process/in-use.ts'
import { getJournalPath, listJournalProcesses } from '../process/settlement-journal.ts'
import { ServerLock } from '../process/server-lock.ts'
import { verifyDatabaseFile } from './ledger-snapshot.ts'

/** Files beside a database. The newest commits may be in the WAL only. */
const walSuffix = '-wal'
const companionSuffixes = [walSuffix, '-shm']

/** Files that are restored with a database while no process can open it. */
interface RestoreCompanions<Rest> {
  /** Restores the settlement journals. Runs before the database is in place, so that no start misses them. */
  restoreJournals(): void
  restoreFiles(): Rest
}

export const noCompanions: RestoreCompanions<undefined> = { restoreJournals: () => undefined, restoreFiles: () => undefined }

interface RestoreOptions<Rest> {
  readonly from: string
  /** Path of the database. Its folder must exist. */
  readonly to: string
  /** The current time. */
  readonly at: number
  readonly companions: RestoreCompanions<Rest>
  /** Schema changes of this version; another list is for tests. */
  readonly migrations?: readonly Migration[]
}

interface RestoreResult<Rest> {
  /** New path of the previous database. */
  readonly kept: string | null
  /** Schema changes that the backup lacked, because an older version wrote it. */
  readonly migrated: readonly string[]
  readonly verification: Verification
  readonly rest: Rest
}

/**
 * Verifies a copy of the backup, with this version's schema, and puts it in place of the database.
 * @throws OperatorError if the backup does not verify, if a newer version wrote it, or if a process still uses the database
 */
export async function restoreFile<Rest>(options: RestoreOptions<Rest>): Promise<RestoreResult<Rest>> {
  const { to, at, companions } = options
  if (isInUse(to)) throw createInUseError()
  // Verification takes time; a server that is started meanwhile must find the lock taken.
  const serverLock = ServerLock.acquire(to, process.pid, at)
  try {
    const replacement = await replaceDatabase(options)
    return { ...replacement, rest: companions.restoreFiles() }
  } finally {
    serverLock.release()
  }
}

async function replaceDatabase({
  from,
  to,
  at,
  companions,
  migrations = currentMigrations,
}: RestoreOptions<unknown>): Promise<Omit<RestoreResult<unknown>, 'rest'>> {
  const partialFile = `${to}.restoring`
  try {
    prepareFile(partialFile)
    // Remains of a killed restore must not be taken for this copy's WAL.
    for (const suffix of companionSuffixes) rmSync(partialFile + suffix, { force: true })
    copyDatabase(from, partialFile)
    // The verification reads this version's tables.
    const migrationNames = await updateSchema(from, partialFile, at, migrations)
    const verification = verifyDatabaseFile(partialFile)
    if (!verification.ok) {
      throw new OperatorError(`${from} is inconsistent: ${verification.mismatches[0]?.detail ?? 'unknown'}. It was not restored.`)
    }
    const owner = findFolderOwner(dirname(to))
    if (owner !== undefined) chownSync(partialFile, owner.uid, owner.gid)
    syncPath(partialFile)
    // Commands do not take the server lock, and one may have started meanwhile.
    if (isUsedByProcess(to)) throw createInUseError()
    const previousFile = moveAside(to)
    companions.restoreJournals()
    renameSync(partialFile, to)
    syncPath(dirname(to))
    return { kept: previousFile, migrated: migrationNames, verification }
  } catch (error) {
    if (error instanceof OperatorError) throw error
    // A system error is not a fault of the backup: a restore needs room for a second copy.
    if ((error as NodeJS.ErrnoException).syscall !== undefined)
      throw new OperatorError(`${from} was not restored to ${to}: ${describeSystemError(error)}.`, { cause: error })
    throw new OperatorError(
      `${from} was not restored: it is not a database of this service, or is damaged (${describeSystemError(error)}).`,
      {
        cause: error,
      },
    )
  } finally {
    for (const suffix of ['', ...companionSuffixes]) rmSync(partialFile + suffix, { force: true })
  }
}

function createInUseError(): OperatorError {
  return new OperatorError('A server still uses this database. Stop it, then restore.')
}

/** Migrates the copy of an older version's backup; returns the names of the migrations. @throws OperatorError for a newer one */
async function updateSchema(
  from: string,
  copy: string,
  at: number,
  migrations: readonly Migration[],
): Promise<readonly string[]> {
  const appliedMigrations = readAppliedMigrations(copy)
  if (appliedMigrations.length === 0) throw new Error('it has no table of schema changes')
  if (appliedMigrations.includes(transferInProgress))
    throw new OperatorError(
      `${from} was not restored: it is the target of a transfer that was not finished. Restore the installation that was being transferred.`,
    )
  const newer = appliedMigrations.find((name) => !migrations.some((migration) => migration.name === name))
  if (newer !== undefined)
    throw new OperatorError(
      `${from} was not restored: it was written by a newer version of svc-gateway (it has the schema change "${newer}"). Restore it with that version.`,
    )
  if (isUpToDate(appliedMigrations, migrations)) return []
  await migrateFile(copy, () => at, migrations)
  return migrations.flatMap(({ name }) => (appliedMigrations.includes(name) ? [] : [name]))
}

function readAppliedMigrations(file: string): readonly string[] {
  const db = openForReading(file, defaultBusyTimeoutMs)
  try {
    return readMigrationNames(db)
  } finally {
    db.close()
  }
}

/** Copies the database with its WAL into one file and checks every page. */
function copyDatabase(from: string, partialFile: string): void {
  copyFileSync(from, partialFile)
  chmodSync(partialFile, 0o600)
  if (existsSync(from + walSuffix)) copyFileSync(from + walSuffix, partialFile + walSuffix)
  if (!foldWal(partialFile)) throw new Error('its pages do not agree')
}

/**
 * Moves the old database away: as one file if it is still readable, else with the files beside it. Leftovers of a missing
 * database are moved as well, because SQLite would take its WAL for the restored one's.
 */
function moveAside(file: string): string | null {
  if (!['', ...companionSuffixes].some((suffix) => existsSync(file + suffix))) return null
  try {
    // SQLite takes an empty file for a new database and discards the WAL beside it.
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0) foldWal(file)
  } catch {
    // The database may be unreadable; that may be why it is being replaced.
  }
  const previousFile = unusedFileName(`${file}.before-restore`, companionSuffixes)
  for (const suffix of ['', ...companionSuffixes]) if (existsSync(file + suffix)) renameSync(file + suffix, previousFile + suffix)
  // Pending settlements of the old database do not belong to the restored one.
  for (const process of listJournalProcesses(file))
    renameSync(getJournalPath(file, process), getJournalPath(previousFile, process))
  return previousFile
}

/** Checkpoints the WAL, so that the file alone is complete. Returns whether its pages are consistent. */
function foldWal(file: string): boolean {
  const db = new Sqlite(file, { timeout: 0 })
  try {
    db.pragma('wal_checkpoint(truncate)')
    return db.pragma('quick_check(1)', { simple: true }) === 'ok'
  } finally {
    db.close()
  }
}
