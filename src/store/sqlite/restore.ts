/** Puts a backup in place of the database: verified first, nothing deleted, and never under a running process. */
import { chmodSync, copyFileSync, existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { Unusable, whyNot } from '../../system/unusable.ts'
import { freeName, sync } from './backup.ts'
import { prepareFile } from './connection.ts'
import { journalOf, processesWithJournal } from './owed-journal.ts'
import { lockBeside } from './place.ts'
import { verifyFile } from './verify-file.ts'

/** What belongs to a database beside its file: what was committed last may stand in the log alone. */
const log = '-wal'
const beside = [log, '-shm']

/**
 * `kept` is where the old database went.
 * @throws Unusable when the backup does not verify or a process still uses the database
 */
export function restoreFile(from: string, to: string): { readonly kept: string | null } {
  if (isInUse(to)) throw new Unusable('A server still uses this database. Stop it, then restore.')
  const part = `${to}.restoring`
  prepareFile(part)
  try {
    copyWhole(from, part)
    const verification = verifyFile(part)
    if (!verification.ok) {
      throw new Unusable(`${from} does not add up: ${verification.mismatches[0]?.detail ?? 'unknown'}. It was not restored.`)
    }
    sync(part)
    const kept = setAside(to)
    renameSync(part, to)
    sync(dirname(to))
    return { kept }
  } catch (error) {
    if (error instanceof Unusable) throw error
    throw new Unusable(`${from} was not restored: it is not a database of this service, or is damaged (${whyNot(error)}).`, {
      cause: error,
    })
  } finally {
    for (const suffix of ['', ...beside]) rmSync(part + suffix, { force: true })
  }
}

/** A copy as one file, with what its log has; every page of it has been looked at. */
function copyWhole(from: string, part: string): void {
  copyFileSync(from, part)
  chmodSync(part, 0o600)
  if (existsSync(from + log)) copyFileSync(from + log, part + log)
  if (!fold(part)) throw new Error('its pages do not agree')
}

/** Moves the old database away, as one file where it can still be read, else with all that lies beside it. */
function setAside(file: string): string | null {
  if (!existsSync(file)) return null
  try {
    // SQLite takes no bytes for a new database, and throws the log beside them away.
    if (statSync(file).size > 0) fold(file)
  } catch {
    // That it cannot be read may be why it is being replaced.
  }
  const kept = freeName(`${file}.before-restore`)
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

/**
 * Each process that uses a database keeps the lock of a small file beside it, however it was started. A server has its place before, while
 * it is still waiting for the database or bringing it up to date.
 */
function isInUse(file: string): boolean {
  if (!existsSync(dirname(file))) return false
  const locks = readdirSync(dirname(file))
    .filter((name) => name.startsWith(`${basename(file)}.process-`) && !name.endsWith('-journal'))
    .map((name) => join(dirname(file), name))
  const place = lockBeside(file)
  return (existsSync(place) ? [place, ...locks] : locks).some(isLocked)
}

function isLocked(file: string): boolean {
  const lock = new Sqlite(file, { timeout: 0 })
  try {
    lock.exec('begin exclusive; rollback')
    return false
  } catch {
    return true
  } finally {
    lock.close()
  }
}
