/** Bounds the emails that wait for one recipient, and tells how long emails have waited. Only a shared database has such a table. */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const emailRecipients: Migration = {
  name: '0002-email-recipients',
  readableBy: '0001-initial',
  async up(db, { database }) {
    if (database === 'sqlite') return
    for (const statement of [
      // Null: queued by an older version, or no recipient.
      'alter table outbound_email add column recipient bytea, add column queued_at timestamptz not null default clock_timestamp()',
      'create index outbound_email_recipient on outbound_email (recipient) where recipient is not null',
    ])
      await sql.raw(statement).execute(db)
  },
}
