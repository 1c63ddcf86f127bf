/** Emails about purchases that are to be sent, deletions of accounts that wait for a payment provider, and buyers on receipts. */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const saleRecords: Migration = {
  name: '0010-sale-records',
  readableBy: '0001-initial',
  async up(db, { whole, id, tableEnd }) {
    for (const statement of [
      `create table purchase_notice (
        about ${id} not null,
        kind text not null,
        subject ${id} not null,
        account ${id} not null references account (id),
        created_at ${whole} not null,
        due_at ${whole},
        attempts ${whole} not null,
        sent_at ${whole},
        constraint purchase_notice_key primary key (about, kind, subject)
      ) ${tableEnd}`,
      'create index purchase_notice_due on purchase_notice (due_at) where due_at is not null',
      'create index purchase_notice_account on purchase_notice (account)',
      `create table account_deletion (
        account ${id} not null primary key references account (id),
        requested_at ${whole} not null,
        due_at ${whole} not null,
        attempts ${whole} not null,
        language text,
        time_zone text
      ) ${tableEnd}`,
      'alter table sale_order add column buyer text',
    ])
      await sql.raw(statement).execute(db)
  },
}
