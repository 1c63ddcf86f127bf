/** Puts a backup in place of the database: verified first, nothing deleted, and never under a running process. */
import { chmodSync, chownSync, copyFileSync, existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import Sqlite from 'better-sqlite3'
import { ownerOf } from '../../system/owner.ts'
import { Unusable, whyNot } from '../../system/unusable.ts'
import { freeName, sync } from './backup.ts'
import { prepareFile } from './connection.ts'
import { isInUse, isUsedByProcess } from './in-use.ts'
import { journalOf, processesWithJournal } from './owed-journal.ts'
import { Place } from './place.ts'
import { verifyFile } from './verify-file.ts'

/** What belongs to a database beside its file: what was committed last may stand in the log alone. */
const log = '-wal'
const beside = [log, '-shm']

/** What comes back with a database, while nobody may begin to work on it. */
export interface Companions<Rest> {
  /** What is owed to it: there before it is, so that no start misses it. */
  owed(): void
  rest(): Rest
}

export const nothingElse: Companions<undefined> = { owed: () => undefined, rest: () => undefined }

/**
 * `kept` is where the old database went. The folder must be there; `at` is now.
 * @throws Unusable when the backup does not verify or a process still uses the database
 */
export function restoreFile<Rest>(
  from: string,
  to: string,
  at: number,
  companions: Companions<Rest>,
): { readonly kept: string | null; readonly rest: Rest } {
  if (isInUse(to)) throw inUse()
  // Proving takes its time, and a server that is started meanwhile must find its place taken.
  const place = Place.take(to, process.pid, at)
  try {
    const kept = replace(from, to, companions)
    return { kept, rest: companions.rest() }
  } finally {
    place.release()
  }
}

function replace(from: string, to: string, { owed }: Companions<unknown>): string | null {
  const part = `${to}.restoring`
  try {
    prepareFile(part)
    // What another restore left that was killed is no log of this copy.
    for (const suffix of beside) rmSync(part + suffix, { force: true })
    copyWhole(from, part)
    const verification = verifyFile(part)
    if (!verification.ok) {
      throw new Unusable(`${from} does not add up: ${verification.mismatches[0]?.detail ?? 'unknown'}. It was not restored.`)
    }
    const owner = ownerOf(dirname(to))
    if (owner !== undefined) chownSync(part, owner.uid, owner.gid)
    sync(part)
    // A command has no place, and may have come meanwhile.
    if (isUsedByProcess(to)) throw inUse()
    const kept = setAside(to)
    owed()
    renameSync(part, to)
    sync(dirname(to))
    return kept
  } catch (error) {
    if (error instanceof Unusable) throw error
    // The system's no says nothing of the backup: restoring needs room for all of it.
    if ((error as NodeJS.ErrnoException).syscall !== undefined)
      throw new Unusable(`${from} was not restored to ${to}: ${whyNot(error)}.`, { cause: error })
    throw new Unusable(`${from} was not restored: it is not a database of this service, or is damaged (${whyNot(error)}).`, {
      cause: error,
    })
  } finally {
    for (const suffix of ['', ...beside]) rmSync(part + suffix, { force: true })
  }
}

function inUse(): Unusable {
  return new Unusable('A server still uses this database. Stop it, then restore.')
}

/** A copy as one file, with what its log has; every page of it has been looked at. */
function copyWhole(from: string, part: string): void {
  copyFileSync(from, part)
  chmodSync(part, 0o600)
  if (existsSync(from + log)) copyFileSync(from + log, part + log)
  if (!fold(part)) throw new Error('its pages do not agree')
}

/**
 * Moves the old database away, as one file where it can still be read, else with all that lies beside it; also what is left of one that is
 * gone: SQLite would take its log for that of the one which is restored.
 */
function setAside(file: string): string | null {
  if (!['', ...beside].some((suffix) => existsSync(file + suffix))) return null
  try {
    // SQLite takes no bytes for a new database, and throws the log beside them away.
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0) fold(file)
  } catch {
    // That it cannot be read may be why it is being replaced.
  }
  const kept = freeName(`${file}.before-restore`, beside)
  for (const suffix of ['', ...beside]) if (existsSync(file + suffix)) renameSync(file + suffix, kept + suffix)
  // What was owed to it is owed to no other.
  for (const process of processesWithJournal(file)) renameSync(journalOf(file, process), journalOf(kept, process))
  return kept
}

/** Takes the log into the database, so that the file alone is all of it. Gives whether its pages agree with each other. */
function fold(file: string): boolean {
  const db = new Sqlite(file, { timeout: 0 })
  try {
    db.pragma('wal_checkpoint(truncate)')
    return db.pragma('quick_check(1)', { simple: true }) === 'ok'
  } finally {
    db.close()
  }
}
