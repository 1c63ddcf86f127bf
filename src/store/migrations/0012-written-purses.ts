/**
 * A purse's row is written only now and then: what its turns have done since is taken in by whoever reads it. From the mark on, turns may
 * be missing in a row. The table gets another name, because a version that takes the row for the purse must find none: also one that is
 * running while this step is done.
 */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const writtenPurses: Migration = {
  async up(db, { whole, tableEnd }) {
    await db.schema.alterTable('purse').renameTo('written_purse').execute()
    await db.schema
      .createTable('purse_mark')
      .addColumn('round', whole, (column) => column.notNull())
      .addColumn('turn', whole, (column) => column.notNull())
      .addColumn('newest', whole, (column) => column.notNull())
      .modifyEnd(tableEnd)
      .execute()
    await db.schema
      .createTable('purse_mark_hold')
      .addColumn('turn', whole, (column) => column.primaryKey().notNull())
      .modifyEnd(tableEnd)
      .execute()
    // Until now every row has been the purse itself.
    await sql`insert into purse_mark (round, turn, newest) select 0, coalesce(max(id), 0), coalesce(max(id), 0) from turn`.execute(
      db,
    )
    await sql`insert into purse_mark_hold (turn) select id from turn where state = 'held'`.execute(db)
  },
}
