/**
 * Copies the database while it is in use. The copy is one snapshot, read by a connection of its own so that the writer never
 * waits, and gets its final name only when it is complete, verified and on disk.
 */
import { chmodSync, closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Verification } from '../../../domain/billing/ledger.ts'
import { createFolder } from '../../../system/data-folder/create-folder.ts'
import type { Connection } from '../connection/connection.ts'
import { defaultBusyTimeoutMs, openForReading } from '../connection/connection.ts'
import { verifyDatabaseFile } from './ledger-snapshot.ts'

/** @throws if `to` exists or the copy does not verify; then no file is left behind */
export function backUp(file: string, to: string): Verification {
  // Named after the process: two backups to the same path must not use each other's partial file.
  const partialFile = `${to}.${process.pid}.part`
  rmSync(partialFile, { force: true })
  try {
    // Created before it is filled, so that it is never readable by others.
    closeSync(openSync(partialFile, 'wx', 0o600))
    const db = openForReading(file, defaultBusyTimeoutMs)
    try {
      db.prepare('vacuum into ?').run(partialFile)
    } finally {
      db.close()
    }
    chmodSync(partialFile, 0o600)
    const verification = verifyDatabaseFile(partialFile)
    if (!verification.ok) throw new Error(`the copy does not verify: ${verification.mismatches[0]?.detail ?? ''}`)
    syncPath(partialFile)
    // Unlike a rename, a link never replaces an existing file.
    linkSync(partialFile, to)
    rmSync(partialFile)
    syncPath(dirname(to))
    return verification
  } finally {
    rmSync(partialFile, { force: true })
  }
}

/** Writes what an open connection still sees to a new file beside `file`, and returns its path. */
export function salvage(db: Connection, file: string): string {
  createFolder(dirname(file), 0o700)
  const to = unusedFileName(`${file}.rescued`)
  closeSync(openSync(to, 'wx', 0o600))
  db.prepare('vacuum into ?').run(to)
  syncPath(to)
  return to
}

/** The first of `name-1`, `name-2` … for which no file exists, with any of the suffixes. */
export function unusedFileName(name: string, companionSuffixes: readonly string[] = []): string {
  for (let i = 1; ; i++)
    if (!['', ...companionSuffixes].some((suffix) => existsSync(`${name}-${i}${suffix}`))) return `${name}-${i}`
}

/** Flushes a file's contents or a folder's entries to disk. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
