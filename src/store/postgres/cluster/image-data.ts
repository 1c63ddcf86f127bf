/** Image bytes in the shared database: written with the image's record, deleted with it, and read in chunks. */
import { Readable } from 'node:stream'
import { sql } from 'kysely'
import type { ImageFiles, ImageRecord } from '../../../domain/image.ts'
import type { Database } from '../../database.ts'
import { recordOwner } from '../../repositories/images.ts'

type ImageDataSchema = { readonly image_data: { readonly hash: string; readonly data: Uint8Array } }

/** A slow reader holds one chunk in memory and no connection. */
const chunkBytes = 256 * 1024

export function createImageDataStore({ read, transact }: Database): ImageFiles {
  const reader = read.withTables<ImageDataSchema>()

  async function readChunk(hash: string, offset: number): Promise<Uint8Array | undefined> {
    const row = await reader
      .selectFrom('image_data')
      .select(sql<Uint8Array>`substring(data from ${offset + 1}::int for ${chunkBytes}::int)`.as('piece'))
      .where('hash', '=', hash)
      .executeTakeFirst()
    return row?.piece
  }

  async function* readChunks({ hash, bytes }: ImageRecord, first: Uint8Array): AsyncGenerator<Uint8Array> {
    let offset = 0
    for (let next: Uint8Array | undefined = first; ; next = await readChunk(hash, offset)) {
      if (next === undefined || next.length === 0) throw new Error('the image was deleted while it was read')
      yield next
      offset += next.length
      if (offset >= bytes) return
    }
  }

  return {
    keep: (image, bytes, account, at) =>
      transact(async (transaction) => {
        await recordOwner(transaction, image, account, at)
        const shared = transaction.withTables<ImageDataSchema>()
        const existingImage = await shared
          .selectFrom('image_data')
          .select('hash')
          .where('hash', '=', image.hash)
          .executeTakeFirst()
        // Several accounts may create the same image; its bytes are not sent again.
        if (existingImage === undefined) await shared.insertInto('image_data').values({ hash: image.hash, data: bytes }).execute()
      }),

    async read(image) {
      const first = await readChunk(image.hash, 0)
      return first === undefined ? null : Readable.from(readChunks(image, first), { objectMode: false })
    },

    // Deleted with the record, by cascade.
    remove() {},
  }
}
