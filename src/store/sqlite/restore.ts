/** Puts a backup in place of the database: verified first, nothing deleted, and never under a running process. */
import { chmodSync, closeSync, copyFileSync, existsSync, fsyncSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { prepareFile } from './connection.ts'
import { verifyFile } from './verify-file.ts'

/** Throws a sentence when the backup does not verify or a process still uses the database. `kept` is where the old one went. */
export async function restoreFile(from: string, to: string): Promise<{ readonly kept: string | null }> {
  if (isInUse(to)) throw new Error('A server still uses this database. Stop it, then restore.')
  const part = `${to}.restoring`
  rmSync(part, { force: true })
  prepareFile(part)
  copyFileSync(from, part)
  chmodSync(part, 0o600)
  const verification = await Promise.resolve()
    .then(() => verifyFile(part))
    .catch((error: unknown) => {
      rmSync(part, { force: true })
      throw new Error(
        `${from} is not a database of this service, or is damaged: ${error instanceof Error ? error.message : String(error)}`,
      )
    })
  if (!verification.ok) {
    rmSync(part, { force: true })
    throw new Error(`${from} does not add up: ${verification.mismatches[0]?.detail ?? 'unknown'}. It was not restored.`)
  }
  for (const suffix of ['-wal', '-shm']) rmSync(part + suffix, { force: true })
  sync(part)
  const kept = existsSync(to) ? freeName(to) : null
  if (kept !== null)
    for (const suffix of ['', '-wal', '-shm']) if (existsSync(to + suffix)) renameSync(to + suffix, kept + suffix)
  renameSync(part, to)
  sync(dirname(to))
  return { kept }
}

/** Each process that uses a database keeps the lock of a small file beside it, however it was started. */
function isInUse(file: string): boolean {
  if (!existsSync(dirname(file))) return false
  const locks = readdirSync(dirname(file)).filter(
    (name) => name.startsWith(`${basename(file)}.process-`) && !name.endsWith('-journal'),
  )
  return locks.some((name) => isLocked(join(dirname(file), name)))
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

function freeName(file: string): string {
  for (let i = 1; ; i++) if (!existsSync(`${file}.before-restore-${i}`)) return `${file}.before-restore-${i}`
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
