/**
 * What a backup holds besides the database: the secret, without which links already sent are void and nobody is recognised by what only
 * a keyed hash was kept of, the images, and endings that were owed to the database just then. They lie in a folder named after the copy,
 * as `today.db` and `today.db.files/`.
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
import type { DataFolder } from '../system/data-folder.ts'
import type { Owner } from '../system/owner.ts'
import { ownerOf } from '../system/owner.ts'
import { freeName } from '../store/sqlite/backup.ts'
import { journalOf, owedTo } from '../store/sqlite/owed-journal.ts'

export function filesBeside(backup: string): string {
  return `${backup}.files`
}

export interface WhatToSave {
  readonly images: boolean
  /** The journals' lines, by process (`owedTo`), of before the database was copied: what is missing in one of them is in the other. */
  readonly owed: ReadonlyMap<string, string>
}

/** Whole or not at all. Gives how many images there were. */
export function saveFiles(folder: DataFolder, to: string, { images: withImages, owed }: WhatToSave): number {
  const part = `${to}.part`
  rmSync(part, { recursive: true, force: true })
  try {
    mkdirSync(part, { mode: 0o700 })
    if (existsSync(folder.secret)) copyDurably(folder.secret, join(part, 'secret.key'))
    for (const [process, lines] of owed) writeDurably(join(part, `${owedPrefix}${process}`), Buffer.from(`${lines}\n`, 'latin1'))
    const images = withImages ? copyMissing(folder.images, join(part, 'images')) : 0
    renameSync(part, to)
    return images
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
}

export interface RestoredFiles {
  /** Where the secret went that was there before and is another one. */
  readonly kept: string | null
  readonly images: number
}

/** Null where nothing lies with the backup: neither a folder of its own, nor the data folder it was copied with. */
export function restoreFiles(backup: string, folder: DataFolder): RestoredFiles | null {
  const from = [filesBeside(backup), dirname(backup)].find((place) => existsSync(join(place, 'secret.key')))
  if (from === undefined || from === folder.path) return null
  const secret = join(from, 'secret.key')
  const another = existsSync(folder.secret) && !readFileSync(folder.secret).equals(readFileSync(secret))
  const kept = another ? freeName(`${folder.secret}.before-restore`) : null
  if (kept !== null) renameSync(folder.secret, kept)
  const owner = ownerOf(folder.path)
  copyDurably(secret, folder.secret, owner)
  return { kept, images: copyMissing(join(from, 'images'), folder.images, owner) }
}

/** Puts back what was owed to the copy, from beside it, for the next start to apply. Gives how many processes owed something. */
export function restoreOwed(backup: string, folder: DataFolder): number {
  const files = filesBeside(backup)
  const saved = existsSync(files) ? readdirSync(files).filter((name) => name.startsWith(owedPrefix)) : []
  const journals = new Map(saved.map((name) => [name.slice(owedPrefix.length), readFileSync(join(files, name))]))
  // A data folder that was copied as it is has the journals themselves.
  for (const [process, lines] of owedTo(backup)) journals.set(process, Buffer.from(`${lines}\n`, 'latin1'))
  const owner = ownerOf(folder.path)
  for (const [process, lines] of journals) writeDurably(journalOf(folder.database, process), lines, owner)
  return journals.size
}

const owedPrefix = 'owed-'

/** Images are named by their content: what is there under the same name, and as long, is the same. */
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
      makeFolder(dirname(target), owner)
      copyDurably(source, target, owner)
    } catch (error) {
      // A clean-up may take an image away meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || existsSync(source)) throw error
    }
  }
  return files.length
}

function makeFolder(path: string, owner: Owner | undefined): void {
  if (existsSync(path)) return
  makeFolder(dirname(path), owner)
  mkdirSync(path, { mode: 0o700 })
  if (owner !== undefined) chownSync(path, owner.uid, owner.gid)
}

function copyDurably(from: string, to: string, owner?: Owner): void {
  durably(to, (part) => copyFileSync(from, part, constants.COPYFILE_FICLONE), owner)
}

export function writeDurably(to: string, bytes: Uint8Array, owner?: Owner): void {
  durably(to, (part) => writeFileSync(part, bytes, { mode: 0o600 }), owner)
}

function durably(to: string, make: (part: string) => void, owner: Owner | undefined): void {
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
