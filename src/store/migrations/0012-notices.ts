/** Notices of the operator to all readers. */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const notices: Migration = {
  name: '0012-notices',
  readableBy: '0001-initial',
  async up(db, { whole, id, tableEnd }) {
    for (const statement of [
      `create table notice (
        id ${id} not null primary key,
        kind text not null check (kind in ('information', 'disturbance', 'maintenance')),
        text_en text,
        text_zh text,
        starts_at ${whole} not null,
        ends_at ${whole} not null,
        revision ${whole} not null,
        created_at ${whole} not null,
        constraint notice_text check (text_en is not null or text_zh is not null),
        constraint notice_span check (starts_at <= ends_at)
      ) ${tableEnd}`,
      'create index notice_end on notice (ends_at)',
    ])
      await sql.raw(statement).execute(db)
  },
}
