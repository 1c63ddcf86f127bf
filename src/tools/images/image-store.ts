/** Images by their content: the same bytes are one file, whoever asked for them. */
import { createHash, randomUUID } from 'node:crypto'
import { createReadStream, rmSync } from 'node:fs'
import type { ReadStream } from 'node:fs'
import { access, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { GatewayConfig } from '../../config/config.ts'
import type { ImageRecord, Images } from '../../membership/image.ts'
import { endings, sniff } from './sniff.ts'

export interface ImageStoreOptions {
  /** A directory of its own. */
  readonly directory: string
  readonly records: Images
  readonly limits: GatewayConfig['images']
  readonly clock: { now(): number }
}

const dayMs = 86_400_000
/** Ended or deleted at a time, so that nobody waits long for the writer. */
const atOnce = 200

export class ImageStore {
  readonly #options: ImageStoreOptions

  constructor(options: ImageStoreOptions) {
    this.#options = options
  }

  /** Keeps an image for an account. Null where the bytes are no image that is kept here, or too many. */
  async put(bytes: Buffer, account: string): Promise<ImageRecord | null> {
    const { records, limits, clock } = this.#options
    const kind = bytes.length > limits.maxBytes ? null : sniff(bytes)
    if (kind === null) return null
    const image: ImageRecord = { hash: createHash('sha256').update(bytes).digest('hex'), kind, bytes: bytes.length }
    const file = this.#fileOf(image)
    if (!(await exists(file))) await write(file, bytes)
    await records.own(image, account, clock.now())
    // A clean-up may have taken the file between the look and the note; from the note on it is safe.
    if (!(await exists(file))) await write(file, bytes)
    return image
  }

  /** An image for reading. Null where there is none (any more). */
  async open(hash: string): Promise<{ readonly image: ImageRecord; readonly stream: ReadStream } | null> {
    const { records, clock } = this.#options
    const image = await records.find(hash)
    if (image === undefined || !(await exists(this.#fileOf(image)))) return null
    // Which images are looked at need not be known to the minute, and a write for each look would be a burden.
    if (clock.now() - image.accessedAt > dayMs) await records.touch(hash, clock.now())
    return { image, stream: createReadStream(this.#fileOf(image)) }
  }

  /** Ends what has been kept long enough, or is too much, and deletes what nobody has any more. */
  async cleanUp(): Promise<void> {
    const { records, limits, clock } = this.#options
    while ((await records.disown(clock.now() - limits.keepForDays * dayMs, atOnce)) === atOnce);
    while ((await records.shrink(limits.keepBytes, atOnce)) > 0);
    while ((await records.drop(atOnce, (image) => rmSync(this.#fileOf(image), { force: true }))) === atOnce);
  }

  /** Two levels of folders, because thousands of files in one are slow everywhere. */
  #fileOf({ hash, kind }: Pick<ImageRecord, 'hash' | 'kind'>): string {
    return join(this.#options.directory, hash.slice(0, 2), hash.slice(2, 4), `${hash}.${endings[kind]}`)
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
