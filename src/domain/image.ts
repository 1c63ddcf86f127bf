/** Images generated for members: their records, their owners, and the files. */
import type { Readable } from 'node:stream'

export type ImageKind = 'png' | 'jpeg' | 'webp'

export interface ImageRecord {
  /** SHA-256 of the bytes, in hex. */
  readonly hash: string
  readonly kind: ImageKind
  readonly bytes: number
}

export interface Images {
  /** Makes the account an owner. The same bytes are one image, however many accounts own it. */
  addOwner(image: ImageRecord, account: string, at: number): Promise<void>
  find(hash: string): Promise<(ImageRecord & { readonly accessedAt: number }) | undefined>
  touch(hash: string, at: number): Promise<void>
  /** Removes ownerships older than `before`. Returns how many, at most `limit`. */
  removeOwners(before: number, limit: number): Promise<number>
  /** Removes the owners of the least recently viewed images until the rest has at most `toBytes` bytes. Returns how many images, at most `limit`. */
  evictToSize(toBytes: number, limit: number): Promise<number>
  /**
   * Deletes images without an owner. `removeFile` deletes the file while no account can become an owner. A store shared by several nodes may
   * call it more than once, and for an image that stays after all: there, the bytes are stored beside the record and deleted with it. Returns
   * how many, at most `limit`.
   */
  deleteUnowned(limit: number, removeFile: (image: ImageRecord) => void): Promise<number>
}

/** Storage of the images' bytes. */
export interface ImageFiles {
  /** Resolves when the account owns the image and its bytes are stored; existing bytes are not written again. */
  keep(image: ImageRecord, bytes: Buffer, account: string, at: number): Promise<void>
  /** Null if there are none (any more). A stream that ends early fails. */
  read(image: ImageRecord): Promise<Readable | null>
  /** Called while no account can become an owner. */
  remove(image: ImageRecord): void
}
