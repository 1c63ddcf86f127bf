/** Images that were painted for members: what is known of each, whose they are, and where the bytes lie. */
import type { Readable } from 'node:stream'

export type ImageKind = 'png' | 'jpeg' | 'webp'

export interface ImageRecord {
  /** SHA-256 of the bytes, in hex. */
  readonly hash: string
  readonly kind: ImageKind
  readonly bytes: number
}

export interface Images {
  /** An account has this image, from now on. The same bytes are one image, however many have it. */
  own(image: ImageRecord, account: string, at: number): Promise<void>
  find(hash: string): Promise<(ImageRecord & { readonly accessedAt: number }) | undefined>
  touch(hash: string, at: number): Promise<void>
  /** Ends what was owned since before then. Returns how many owners were ended, at most `limit`. */
  disown(before: number, limit: number): Promise<number>
  /** Ends the owners of the images looked at longest ago, until the rest has at most so many bytes. Returns how many images, at most `limit`. */
  shrink(toBytes: number, limit: number): Promise<number>
  /**
   * Deletes images that nobody has any more; `remove` deletes the file, while nobody can come to have it anew. A store that several nodes
   * write may call it again, and for one that stays after all: there, bytes lie beside the record and go with it. Returns how many, at most
   * `limit`.
   */
  drop(limit: number, remove: (image: ImageRecord) => void): Promise<number>
}

/** Where the bytes of images lie. */
export interface ImageFiles {
  /** An account has this image, and its bytes are kept, when this resolves; bytes that are there already are not written again. */
  keep(image: ImageRecord, bytes: Buffer, account: string, at: number): Promise<void>
  /** Null where there are none (any more). What ends in its midst fails. */
  read(image: ImageRecord): Promise<Readable | null>
  /** Called while nobody can come to have it anew. */
  remove(image: ImageRecord): void
}
