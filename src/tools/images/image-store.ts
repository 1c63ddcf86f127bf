/** Images by their content: the same bytes are one image, whoever asked for them. */
import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { GatewayConfig } from '../../config/config.ts'
import type { ImageFiles, ImageRecord, Images } from '../../membership/image.ts'
import { sniff } from './sniff.ts'

export interface ImageStoreOptions {
  readonly files: ImageFiles
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
    const { files, limits, clock } = this.#options
    const kind = bytes.length > limits.maxBytes ? null : sniff(bytes)
    if (kind === null) return null
    const image: ImageRecord = { hash: createHash('sha256').update(bytes).digest('hex'), kind, bytes: bytes.length }
    await files.keep(image, bytes, account, clock.now())
    return image
  }

  /** An image for reading. Null where there is none (any more). */
  async open(hash: string): Promise<{ readonly image: ImageRecord; readonly stream: Readable } | null> {
    const { files, records, clock } = this.#options
    const image = await records.find(hash)
    if (image === undefined) return null
    // Which images are looked at need not be known to the minute, and a write for each look would be a burden.
    if (clock.now() - image.accessedAt > dayMs) await records.touch(hash, clock.now())
    const stream = await files.read(image)
    return stream && { image, stream }
  }

  /** Ends what has been kept long enough, or is too much, and deletes what nobody has any more. */
  async cleanUp(): Promise<void> {
    const { files, records, limits, clock } = this.#options
    while ((await records.disown(clock.now() - limits.keepForDays * dayMs, atOnce)) === atOnce);
    while ((await records.shrink(limits.keepBytes, atOnce)) > 0);
    while ((await records.drop(atOnce, (image) => files.remove(image))) === atOnce);
  }
}
