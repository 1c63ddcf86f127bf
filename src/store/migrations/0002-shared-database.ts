/**
 * Only a shared database has these tables. Bounds the emails that wait for one recipient, and tells how long emails have waited. Records the
 * database cluster, so that an old primary, or a restored dump without confirmation, is refused.
 */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const sharedDatabase: Migration = {
  name: '0002-shared-database',
  readableBy: '0001-initial',
  async up(db, { database }) {
    if (database === 'sqlite') return
    for (const statement of [
      // Null: queued by an older version, or no recipient.
      'alter table outbound_email add column recipient bytea, add column queued_at timestamptz not null default clock_timestamp()',
      'create index outbound_email_recipient on outbound_email (recipient) where recipient is not null',
      // Written by a node; null: by none yet. The replaced ones as `identifier:timeline`.
      `alter table installation add column system_identifier text, add column timeline bigint,
        add column replaced_databases text[] not null default '{}'`,
    ])
      await sql.raw(statement).execute(db)
  },
}
