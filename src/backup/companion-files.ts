/**
 * The files of a backup besides the database: the secret (without it, signed links become void and keyed hashes match no one), the images,
 * and settlements that were pending at that moment. They are in a folder named after the copy: `today.db` and `today.db.files/`.
 */
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fchownSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { DataFolder } from '../system/data-folder/data-folder.ts'
import type { Owner } from '../system/data-folder/folder-owner.ts'
import { findFolderOwner } from '../system/data-folder/folder-owner.ts'
import { unusedFileName } from '../store/sqlite/maintenance/backup.ts'
import { getJournalPath, readPendingJournals } from '../store/sqlite/process/settlement-journal.ts'

export function companionFiles(backup: string): string {
  return `${backup}.files`
}

interface BackupOptions {
  readonly images: boolean
  /** Journal lines by process, read before the database was copied: a line missing in one of them is in the other. */
  readonly pendingSettlements: ReadonlyMap<string, string>
}

/** Writes all files or none. Returns the number of images. */
export function saveCompanionFiles(
  folder: DataFolder,
  to: string,
  { images: withImages, pendingSettlements }: BackupOptions,
): number {
  const part = `${to}.part`
  rmSync(part, { recursive: true, force: true })
  try {
    mkdirSync(part, { mode: 0o700 })
    if (existsSync(folder.secret)) copyDurably(folder.secret, join(part, 'secret.key'))
    for (const [process, lines] of pendingSettlements)
      writeDurably(join(part, `${pendingSettlementsPrefix}${process}`), Buffer.from(`${lines}\n`, 'latin1'))
    const images = withImages ? copyMissing(folder.images, join(part, 'images')) : 0
    renameSync(part, to)
    return images
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
}

interface RestoredFiles {
  /** Where a different secret that was there before has been moved. */
  readonly kept: string | null
  /** Whether the backup has the secret: one that is not encrypted has not. */
  readonly hasSecret: boolean
  readonly images: number
}

/** Null where the backup has no companion files: neither a folder of its own, nor the data folder it was copied with. */
export function restoreCompanionFiles(backup: string, folder: DataFolder): RestoredFiles | null {
  const ownFolder = companionFiles(backup)
  const from = existsSync(ownFolder) ? ownFolder : existsSync(join(dirname(backup), 'secret.key')) ? dirname(backup) : undefined
  if (from === undefined || from === folder.path) return null
  const secret = join(from, 'secret.key')
  const hasSecret = existsSync(secret)
  const isOtherSecret = hasSecret && existsSync(folder.secret) && !readFileSync(folder.secret).equals(readFileSync(secret))
  const keptSecretFile = isOtherSecret ? unusedFileName(`${folder.secret}.before-restore`) : null
  if (keptSecretFile !== null) renameSync(folder.secret, keptSecretFile)
  const owner = findFolderOwner(folder.path)
  if (hasSecret) copyDurably(secret, folder.secret, owner)
  return { kept: keptSecretFile, hasSecret, images: copyMissing(join(from, 'images'), folder.images, owner) }
}

/** Restores pending settlements for the next start to apply. Returns the number of processes that had some. */
export function restorePendingSettlements(backup: string, folder: DataFolder): number {
  const files = companionFiles(backup)
  const savedJournals = existsSync(files) ? readdirSync(files).filter((name) => name.startsWith(pendingSettlementsPrefix)) : []
  const journals = new Map(
    savedJournals.map((name) => [name.slice(pendingSettlementsPrefix.length), readFileSync(join(files, name))]),
  )
  // A data folder copied as a whole has the journals themselves.
  for (const [process, lines] of readPendingJournals(backup)) journals.set(process, Buffer.from(`${lines}\n`, 'latin1'))
  const owner = findFolderOwner(folder.path)
  for (const [process, lines] of journals) writeDurably(getJournalPath(folder.database, process), lines, owner)
  return journals.size
}

export const pendingSettlementsPrefix = 'settlements-'

/** Images are named by their content: a file of the same name and size is the same image. */
function copyMissing(from: string, to: string, owner?: Owner): number {
  if (!existsSync(from)) return 0
  const files = readdirSync(from, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && !entry.name.endsWith('.part'),
  )
  for (const { parentPath, name } of files) {
    const source = join(parentPath, name)
    const target = join(to, relative(from, source))
    try {
      const { size } = statSync(source)
      if (statSync(target, { throwIfNoEntry: false })?.size === size) continue
      createFolder(dirname(target), owner)
      copyDurably(source, target, owner)
    } catch (error) {
      // A clean-up job may delete an image meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || existsSync(source)) throw error
    }
  }
  return files.length
}

function createFolder(path: string, owner: Owner | undefined): void {
  if (existsSync(path)) return
  createFolder(dirname(path), owner)
  mkdirSync(path, { mode: 0o700 })
  if (owner !== undefined) chownSync(path, owner.uid, owner.gid)
}

function copyDurably(from: string, to: string, owner?: Owner): void {
  replaceDurably(to, (part) => copyFileSync(from, part, constants.COPYFILE_FICLONE), owner)
}

export function writeDurably(to: string, bytes: Uint8Array, owner?: Owner): void {
  replaceDurably(to, (part) => writeFileSync(part, bytes, { mode: 0o600 }), owner)
}

function replaceDurably(to: string, make: (part: string) => void, owner: Owner | undefined): void {
  const part = `${to}.part`
  make(part)
  chmodSync(part, 0o600)
  const descriptor = openSync(part, 'r+')
  try {
    if (owner !== undefined) fchownSync(descriptor, owner.uid, owner.gid)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  renameSync(part, to)
}
