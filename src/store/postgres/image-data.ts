/** Images in the database that all nodes share: bytes beside the record, written with it and gone with it, and read piece by piece. */
import { Readable } from 'node:stream'
import { sql } from 'kysely'
import type { ImageFiles, ImageRecord } from '../../membership/image.ts'
import type { Database } from '../database.ts'
import { noteOwner } from '../images.ts'
import type { ClusterSchema } from './schema-cluster.ts'

/** What one look brings: whoever reads slowly keeps so much of an image waiting, and no connection. */
const pieceBytes = 256 * 1024

export function imageDataIn({ read, transact }: Database): ImageFiles {
  const reader = read.withTables<Pick<ClusterSchema, 'image_data'>>()

  async function piece(hash: string, from: number): Promise<Uint8Array | undefined> {
    const row = await reader
      .selectFrom('image_data')
      .select(sql<Uint8Array>`substring(data from ${from + 1}::int for ${pieceBytes}::int)`.as('piece'))
      .where('hash', '=', hash)
      .executeTakeFirst()
    return row?.piece
  }

  async function* pieces({ hash, bytes }: ImageRecord, first: Uint8Array): AsyncGenerator<Uint8Array> {
    let read = 0
    for (let next: Uint8Array | undefined = first; ; next = await piece(hash, read)) {
      if (next === undefined || next.length === 0) throw new Error('the image went while it was read')
      yield next
      read += next.length
      if (read >= bytes) return
    }
  }

  return {
    keep: (image, bytes, account, at) =>
      transact(async (transaction) => {
        await noteOwner(transaction, image, account, at)
        const shared = transaction.withTables<Pick<ClusterSchema, 'image_data'>>()
        const known = await shared.selectFrom('image_data').select('hash').where('hash', '=', image.hash).executeTakeFirst()
        // The same bytes are painted for many: they need not be sent again.
        if (known === undefined) await shared.insertInto('image_data').values({ hash: image.hash, data: bytes }).execute()
      }),

    async read(image) {
      const first = await piece(image.hash, 0)
      return first === undefined ? null : Readable.from(pieces(image, first), { objectMode: false })
    },

    // They went with their record.
    remove() {},
  }
}
