/** Images by content: the same bytes are one image with several owners. */
import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { GatewayConfig } from '../config/config.ts'
import type { ImageFiles, ImageRecord, Images } from '../domain/image.ts'
import { sniff } from './sniff.ts'

interface ImageStoreOptions {
  readonly files: ImageFiles
  readonly records: Images
  readonly limits: GatewayConfig['images']
  readonly clock: { now(): number }
}

const dayMs = 86_400_000
/** Rows changed in one transaction, so that no other write waits long. */
const batchSize = 200

export class ImageStore {
  readonly #options: ImageStoreOptions

  constructor(options: ImageStoreOptions) {
    this.#options = options
  }

  /** Stores an image for an account. Null if the bytes are no supported image, or too many. */
  async put(bytes: Buffer, account: string): Promise<ImageRecord | null> {
    const { files, limits, clock } = this.#options
    const kind = bytes.length > limits.maxBytes ? null : sniff(bytes)
    if (kind === null) return null
    const image: ImageRecord = { hash: createHash('sha256').update(bytes).digest('hex'), kind, bytes: bytes.length }
    await files.keep(image, bytes, account, clock.now())
    return image
  }

  /** Opens an image for reading. Null if there is none (any more). */
  async open(hash: string): Promise<{ readonly image: ImageRecord; readonly stream: Readable } | null> {
    const { files, records, clock } = this.#options
    const image = await records.find(hash)
    if (image === undefined) return null
    // A day's precision is enough, and avoids a write for each view.
    if (clock.now() - image.accessedAt > dayMs) await records.touch(hash, clock.now())
    const stream = await files.read(image)
    return stream && { image, stream }
  }

  /** Removes images that are too old or over the size limit, and deletes those without an owner. */
  async cleanUp(): Promise<void> {
    const { files, records, limits, clock } = this.#options
    while ((await records.removeOwners(clock.now() - limits.keepForDays * dayMs, batchSize)) === batchSize);
    while ((await records.evictToSize(limits.keepBytes, batchSize)) > 0);
    while ((await records.deleteUnowned(batchSize, (image) => files.remove(image))) === batchSize);
  }
}
