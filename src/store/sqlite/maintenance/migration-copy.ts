/**
 * The copy of the database that a server makes before it changes the schema: the version before refuses the new schema, and starts again
 * with the copy. One copy is kept, that of the last change, in the folder `before-migration` beside the database.
 */
import { chownSync, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { findFolderOwner } from '../../../system/data-folder/folder-owner.ts'
import { OperatorError, describeSystemError } from '../../../system/operator-error.ts'
import { defaultBusyTimeoutMs, openForReading } from '../connection/connection.ts'
import type { Connection } from '../connection/connection.ts'
import { getJournalPath, readPendingJournals } from '../process/settlement-journal.ts'
import { syncPath } from './backup.ts'
import { readMigrationNames } from './migrate-file.ts'

/** Records that exist in the database and not in the copy. */
export interface LaterRecords {
  readonly turns: number
  readonly accounts: number
  readonly packs: number
}

export interface MigrationCopy {
  readonly file: string
  /** Names of its schema changes. */
  readonly layout: readonly string[]
  /** When it was made. */
  readonly at: number
  readonly laterRecords: LaterRecords
}

const folderName = 'before-migration'

function getCopyPath(file: string): string {
  return join(dirname(file), folderName, basename(file))
}

/** The copy of a change that was not completed. */
function getPendingPath(file: string): string {
  return join(dirname(file), `${folderName}.pending`, basename(file))
}

/**
 * Copies the database with its pending settlements. The caller holds the server lock, and no other process uses the database.
 * @throws OperatorError where there is no room; then nothing has changed
 */
export function copyBeforeMigration(file: string): void {
  const pendingFile = getPendingPath(file)
  // A start that was killed between two changes: the copy is from before the first one.
  if (existsSync(pendingFile) && readLayout(pendingFile).join() !== readLayout(file).join()) return
  const folder = dirname(pendingFile)
  const part = `${pendingFile}.part`
  try {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { mode: 0o700 })
    for (const [process, lines] of readPendingJournals(file))
      writeFileSync(getJournalPath(pendingFile, process), `${lines}\n`, { encoding: 'latin1', mode: 0o600 })
    writeFileSync(part, '', { mode: 0o600 })
    withConnection(file, (db) => db.prepare('vacuum into ?').run(part))
    const owner = findFolderOwner(dirname(folder))
    if (owner !== undefined) for (const path of [folder, part]) chownSync(path, owner.uid, owner.gid)
    syncPath(part)
    renameSync(part, pendingFile)
    syncPath(folder)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    const mebibytes = Math.ceil(statSync(file).size / 1024 ** 2)
    throw new OperatorError(
      `${file} has the layout of an older version, and could not be copied before the change: ${describeSystemError(error)}. Make room for ${mebibytes} MiB in ${dirname(file)}, or start the version before.`,
      { cause: error },
    )
  }
}

/** Replaces the copy of the change before, once the schema is this version's. */
export function completeMigrationCopy(file: string): void {
  const [pendingFolder, complete] = [dirname(getPendingPath(file)), dirname(getCopyPath(file))]
  if (!existsSync(pendingFolder)) return
  rmSync(complete, { recursive: true, force: true })
  renameSync(pendingFolder, complete)
}

/** Names of the schema changes of a database, which may be of any version. */
export function readLayout(file: string): readonly string[] {
  return withConnection(file, (db) => readMigrationNames(db).toSorted())
}

/** The copies beside a database, that of the last change first, with what was recorded since. */
export function listMigrationCopies(file: string): readonly MigrationCopy[] {
  return [getPendingPath(file), getCopyPath(file)]
    .filter((copy) => existsSync(copy))
    .map((copy) => ({
      file: copy,
      layout: readLayout(copy),
      at: Math.round(statSync(copy).mtimeMs),
      laterRecords: countLaterRecords(file, copy),
    }))
}

function countLaterRecords(file: string, copy: string): LaterRecords {
  return withConnection(file, (db) => {
    // As this connection, it only reads.
    db.prepare('attach ? as copy').run(copy)
    const count = (table: 'turn' | 'account' | 'pack'): number =>
      db
        .prepare(`select count(*) from main.${table} as later where not exists (select 1 from copy.${table} where id = later.id)`)
        .pluck()
        .get() as number
    return { turns: count('turn'), accounts: count('account'), packs: count('pack') }
  })
}

function withConnection<Result>(file: string, work: (db: Connection) => Result): Result {
  const db = openForReading(file, defaultBusyTimeoutMs)
  try {
    return work(db)
  } finally {
    db.close()
  }
}
