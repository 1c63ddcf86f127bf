/** Images. */
import type { Kysely } from 'kysely'
import { sql } from 'kysely'
import type { ImageRecord, Images } from '../../domain/image.ts'
import type { Database } from '../database.ts'
import type { Schema } from '../schema/schema.ts'

export function createImageRepository({ read, write, transact }: Database): Images {
  return {
    addOwner: (image, account, at) => transact((transaction) => recordOwner(transaction, image, account, at)),

    async find(hash) {
      const row = await read
        .selectFrom('image')
        .select(['hash', 'kind', 'bytes', 'accessed_at'])
        .where('hash', '=', hash)
        .executeTakeFirst()
      if (row === undefined) return undefined
      return { hash: row.hash, kind: row.kind, bytes: Number(row.bytes), accessedAt: Number(row.accessed_at) }
    },

    async touch(hash, at) {
      await write.updateTable('image').set({ accessed_at: at }).where('hash', '=', hash).execute()
    },

    async removeOwners(before, limit) {
      const rows = await write
        .deleteFrom('image_owner')
        .where(
          sql<boolean>`(hash, account) in (select hash, account from image_owner where created_at < ${before} limit ${limit})`,
        )
        .returning('hash')
        .execute()
      return rows.length
    },

    evictToSize(toBytes, limit) {
      return transact(async (transaction) => {
        const { total } = await transaction
          .selectFrom('image')
          .select((select) => select.fn.sum<number | null>('bytes').as('total'))
          .where((where) =>
            where.exists(where.selectFrom('image_owner').select('account').whereRef('image_owner.hash', '=', 'image.hash')),
          )
          .executeTakeFirstOrThrow()
        let excessBytes = Number(total ?? 0) - toBytes
        if (excessBytes <= 0) return 0
        const oldest = await transaction
          .selectFrom('image')
          .select(['hash', 'bytes'])
          .where((where) =>
            where.exists(where.selectFrom('image_owner').select('account').whereRef('image_owner.hash', '=', 'image.hash')),
          )
          .orderBy('accessed_at')
          .orderBy('hash')
          .limit(limit)
          .execute()
        const evictedHashes: string[] = []
        for (const { hash, bytes } of oldest) {
          if (excessBytes <= 0) break
          excessBytes -= Number(bytes)
          evictedHashes.push(hash)
        }
        await transaction.deleteFrom('image_owner').where('hash', 'in', evictedHashes).execute()
        return evictedHashes.length
      })
    },

    deleteUnowned(limit, remove) {
      return transact(async (transaction) => {
        const rows = await transaction
          .selectFrom('image')
          .select(['hash', 'kind', 'bytes'])
          .where((where) =>
            where.not(
              where.exists(where.selectFrom('image_owner').select('account').whereRef('image_owner.hash', '=', 'image.hash')),
            ),
          )
          .limit(limit)
          .execute()
        if (rows.length === 0) return 0
        const hashes = rows.map(({ hash }) => hash)
        await transaction.deleteFrom('image').where('hash', 'in', hashes).execute()
        // Last and inside the transaction: until it commits, no account can become the owner of one of them again.
        for (const { hash, kind, bytes } of rows) remove({ hash, kind, bytes: Number(bytes) } satisfies ImageRecord)
        return rows.length
      })
    },
  }
}

/** Makes the account an owner of the image. Call it inside a transaction. */
export async function recordOwner(
  transaction: Kysely<Schema>,
  { hash, kind, bytes }: ImageRecord,
  account: string,
  at: number,
): Promise<void> {
  await transaction
    .insertInto('image')
    .values({ hash, kind, bytes, created_at: at, accessed_at: at })
    .onConflict((conflict) => conflict.column('hash').doUpdateSet({ accessed_at: at }))
    .execute()
  await transaction
    .insertInto('image_owner')
    .values({ hash, account, created_at: at })
    .onConflict((conflict) => conflict.columns(['hash', 'account']).doUpdateSet({ created_at: at }))
    .execute()
}
