/** Images painted for members. */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const images: Migration = {
  async up(db, { whole, tableEnd, clusteredTableEnd }) {
    await db.schema
      .createTable('image')
      .addColumn('hash', 'text', (column) => column.primaryKey().notNull())
      .addColumn('kind', 'text', (column) => column.notNull().check(sql`kind in ('png', 'jpeg', 'webp')`))
      .addColumn('bytes', whole, (column) => column.notNull().check(sql`bytes > 0`))
      .addColumn('created_at', whole, (column) => column.notNull())
      .addColumn('accessed_at', whole, (column) => column.notNull())
      .modifyEnd(tableEnd)
      .execute()
    await db.schema.createIndex('image_accessed').on('image').column('accessed_at').execute()

    await db.schema
      .createTable('image_owner')
      .addColumn('hash', 'text', (column) => column.notNull().references('image.hash'))
      .addColumn('account', 'text', (column) => column.notNull().references('account.id'))
      .addColumn('created_at', whole, (column) => column.notNull())
      .addPrimaryKeyConstraint('image_owner_key', ['hash', 'account'])
      .modifyEnd(clusteredTableEnd)
      .execute()
    await db.schema.createIndex('image_owner_account').on('image_owner').column('account').execute()
    await db.schema.createIndex('image_owner_created').on('image_owner').column('created_at').execute()
  },
}
