/** Image files on one machine, named by their hash. */
import { randomUUID } from 'node:crypto'
import { createReadStream, rmSync } from 'node:fs'
import type { ReadStream } from 'node:fs'
import { access, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ImageFiles, ImageRecord, Images } from '../domain/image.ts'
import { fileExtensions } from './sniff.ts'

export class ImageFolder implements ImageFiles {
  readonly #directory: string
  readonly #records: Pick<Images, 'addOwner'>

  /** @param directory used for images alone */
  constructor(directory: string, records: Pick<Images, 'addOwner'>) {
    this.#directory = directory
    this.#records = records
  }

  async keep(image: ImageRecord, bytes: Buffer, account: string, at: number): Promise<void> {
    const file = this.#getPath(image)
    if (!(await exists(file))) await writeAtomically(file, bytes)
    await this.#records.addOwner(image, account, at)
    // A clean-up may have removed the file between the check and the record; after the record it is safe.
    if (!(await exists(file))) await writeAtomically(file, bytes)
  }

  async read(image: ImageRecord): Promise<ReadStream | null> {
    const file = this.#getPath(image)
    return (await exists(file)) ? createReadStream(file) : null
  }

  remove(image: ImageRecord): void {
    rmSync(this.#getPath(image), { force: true })
  }

  #getPath(image: ImageRecord): string {
    return getImagePath(this.#directory, image)
  }
}

/** Writes to a temporary file, syncs it, and renames it into place. */
async function writeAtomically(file: string, bytes: Buffer): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${randomUUID()}.part`
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      await handle.writeFile(bytes)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}

/** Two levels of folders, because thousands of files in one folder are slow. */
export function getImagePath(directory: string, { hash, kind }: Pick<ImageRecord, 'hash' | 'kind'>): string {
  return join(directory, hash.slice(0, 2), hash.slice(2, 4), `${hash}.${fileExtensions[kind]}`)
}
