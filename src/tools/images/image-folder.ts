/** Images in files of one machine, named by their hash. */
import { randomUUID } from 'node:crypto'
import { createReadStream, rmSync } from 'node:fs'
import type { ReadStream } from 'node:fs'
import { access, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { ImageFiles, ImageRecord, Images } from '../../membership/image.ts'
import { imageFileIn } from './image-file.ts'

export class ImageFolder implements ImageFiles {
  readonly #directory: string
  readonly #records: Pick<Images, 'own'>

  /** @param directory of its own */
  constructor(directory: string, records: Pick<Images, 'own'>) {
    this.#directory = directory
    this.#records = records
  }

  async keep(image: ImageRecord, bytes: Buffer, account: string, at: number): Promise<void> {
    const file = this.#fileOf(image)
    if (!(await exists(file))) await write(file, bytes)
    await this.#records.own(image, account, at)
    // A clean-up may have taken the file between the look and the note; from the note on it is safe.
    if (!(await exists(file))) await write(file, bytes)
  }

  async read(image: ImageRecord): Promise<ReadStream | null> {
    const file = this.#fileOf(image)
    return (await exists(file)) ? createReadStream(file) : null
  }

  remove(image: ImageRecord): void {
    rmSync(this.#fileOf(image), { force: true })
  }

  #fileOf(image: ImageRecord): string {
    return imageFileIn(this.#directory, image)
  }
}

/** Whole or not at all: written beside its place, and moved there when it is safe on the disk. */
async function write(file: string, bytes: Buffer): Promise<void> {
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
