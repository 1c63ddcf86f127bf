/**
 * Programs that members let use the tools (OAuth): who registered, and what was given to them. What an approval comes to is a session
 * like the others, so that it is listed and ended with them; all that hangs on it goes when it goes.
 */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const apps: Migration = {
  async up(db, { whole, bytes, tableEnd, clusteredTableEnd, after }) {
    await db.schema
      .createTable('app')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('metadata', 'text', (column) => column.notNull())
      .addColumn('created_at', whole, (column) => column.notNull())
      .addColumn('used_at', whole)
      .modifyEnd(tableEnd)
      .execute()
    await db.schema.createIndex('app_use').on('app').columns(['used_at', 'created_at']).execute()

    // Kept as kind `cli`, because the check on that column cannot be widened in place; where an app is named, it is the app's.
    await db.schema.alterTable('session').addColumn('app', 'text').execute()

    await db.schema
      .createTable('app_record')
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('hash', bytes, (column) => column.notNull().check(sql`length(hash) = 32`))
      .addColumn('session', 'text')
      .addColumn('payload', 'text', (column) => column.notNull())
      .addColumn('consumed_at', whole)
      .addColumn('expires_at', whole, (column) => column.notNull())
      .addPrimaryKeyConstraint('app_record_key', ['kind', 'hash'])
      .modifyEnd(clusteredTableEnd)
      .execute()
    await db.schema.createIndex('app_record_session').on('app_record').column('session').execute()
    await db.schema.createIndex('app_record_end').on('app_record').column('expires_at').execute()
    await after(
      'app_disconnected',
      'session',
      'delete',
      sql`old.app is not null`,
      sql`delete from app_record where session = old.id`,
    ).execute(db)
  },
}
