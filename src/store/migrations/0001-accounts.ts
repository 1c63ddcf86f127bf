/** Accounts and their API keys. */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const accounts: Migration = {
  async up(db, { whole, bytes, tableEnd }) {
    await db.schema
      .createTable('account')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('email', 'text', (column) => column.unique().check(sql`email = lower(email)`))
      .addColumn('plan', 'text', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull().check(sql`status in ('active', 'disabled', 'deleted')`))
      .addColumn('password_hash', 'text')
      .addColumn('email_verified', whole, (column) => column.notNull().check(sql`email_verified in (0, 1)`))
      .addColumn('created_at', whole, (column) => column.notNull())
      .addCheckConstraint('forgotten', sql`status <> 'deleted' or (email is null and password_hash is null)`)
      .modifyEnd(tableEnd)
      .execute()

    await db.schema
      .createTable('api_key')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('account', 'text', (column) => column.notNull().references('account.id'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('prefix', 'text', (column) => column.notNull())
      .addColumn('last4', 'text', (column) => column.notNull())
      .addColumn('hash', bytes, (column) =>
        column
          .notNull()
          .unique()
          .check(sql`length(hash) = 32`),
      )
      .addColumn('created_at', whole, (column) => column.notNull())
      .addColumn('last_used_at', whole)
      .addColumn('expires_at', whole)
      .addColumn('revoked_at', whole)
      .modifyEnd(tableEnd)
      .execute()
    await db.schema.createIndex('api_key_account').on('api_key').column('account').execute()
  },
}
