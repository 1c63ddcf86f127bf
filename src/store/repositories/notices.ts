/** Notices of the operator to all readers. */
import type { Selectable } from 'kysely'
import type { Notice, NoticeContent, Notices } from '../../domain/notice.ts'
import type { Database } from '../database.ts'
import type { Schema } from '../schema/schema.ts'

export function createNoticeRepository({ read, write, transact }: Database): Notices {
  return {
    async listOpen(now) {
      const rows = await read
        .selectFrom('notice')
        .selectAll()
        .where('ends_at', '>', now)
        .orderBy('starts_at')
        .orderBy('id')
        .execute()
      return rows.map(toNotice)
    },

    async list({ before, limit }) {
      const query = read.selectFrom('notice').selectAll().orderBy('id', 'desc').limit(limit)
      return (await (before === undefined ? query : query.where('id', '<', before)).execute()).map(toNotice)
    },

    async find(id) {
      const row = await read.selectFrom('notice').selectAll().where('id', '=', id).executeTakeFirst()
      return row && toNotice(row)
    },

    add({ id, revision, createdAt, ...content }, limit) {
      return transact(async (transaction) => {
        const open = await transaction.selectFrom('notice').select('id').where('ends_at', '>', createdAt).limit(limit).execute()
        if (open.length >= limit) return false
        await transaction
          .insertInto('notice')
          .values({ id, revision, created_at: createdAt, ...toColumns(content) })
          .execute()
        return true
      })
    },

    async change({ id, revision }, content, now) {
      const row = await write
        .updateTable('notice')
        .set((update) => ({ ...toColumns(content), revision: update('revision', '+', 1) }))
        .where('id', '=', id)
        .where('revision', '=', revision)
        .where('ends_at', '>', now)
        .returningAll()
        .executeTakeFirst()
      return row && toNotice(row)
    },

    async sweep(at) {
      await write.deleteFrom('notice').where('ends_at', '<', at).execute()
    },
  }
}

function toColumns({ kind, text, startsAt, endsAt }: NoticeContent) {
  return { kind, text_en: text.en, text_zh: text.zh, starts_at: startsAt, ends_at: endsAt }
}

function toNotice(row: Selectable<Schema['notice']>): Notice {
  return {
    id: row.id,
    kind: row.kind,
    text: { en: row.text_en, zh: row.text_zh },
    startsAt: row.starts_at,
    endsAt: row.ends_at,
    revision: row.revision,
    createdAt: row.created_at,
  }
}
