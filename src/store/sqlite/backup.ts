/**
 * A copy of the database while it is in use: one snapshot, read by a connection of its own so that the writer never waits, put in place
 * only when it is whole, verified and on the disk.
 */
import { chmodSync, closeSync, existsSync, fsyncSync, linkSync, mkdirSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Verification } from '../../membership/ledger.ts'
import type { Connection } from './connection.ts'
import { defaultBusyTimeoutMs, openForReading } from './connection.ts'
import { verifyFile } from './verify-file.ts'

/** Throws when `to` exists, or when the copy does not verify; then nothing is left behind. */
export function backUp(file: string, to: string): Verification {
  // Of this process alone: two that copy to one name at once must not take each other's for whole.
  const part = `${to}.${process.pid}.part`
  rmSync(part, { force: true })
  try {
    // Made before it is filled, so that nobody else can read it even for a moment.
    closeSync(openSync(part, 'wx', 0o600))
    const db = openForReading(file, defaultBusyTimeoutMs)
    try {
      db.prepare('vacuum into ?').run(part)
    } finally {
      db.close()
    }
    chmodSync(part, 0o600)
    const verification = verifyFile(part)
    if (!verification.ok) throw new Error(`the copy does not verify: ${verification.mismatches[0]?.detail ?? ''}`)
    sync(part)
    // Unlike a rename, a link never replaces a file that is there.
    linkSync(part, to)
    rmSync(part)
    sync(dirname(to))
    return verification
  } finally {
    rmSync(part, { force: true })
  }
}

/** Writes what an open connection sees beside the place where its file was, and returns where. */
export function rescue(db: Connection, file: string): string {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const to = freeName(`${file}.rescued`)
  closeSync(openSync(to, 'wx', 0o600))
  db.prepare('vacuum into ?').run(to)
  sync(to)
  return to
}

/** The first of `name-1`, `name-2` … that nothing has, nor what would lie beside it. */
export function freeName(name: string, beside: readonly string[] = []): string {
  for (let i = 1; ; i++) if (!['', ...beside].some((suffix) => existsSync(`${name}-${i}${suffix}`))) return `${name}-${i}`
}

/** Durable, whatever becomes of the machine: a file's contents, or a folder's names. */
export function sync(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
