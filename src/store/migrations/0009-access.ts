/**
 * Signing in while strangers try to: each try is a row, so that limits hold for every span of time; a letter has a link besides its code and
 * stays known for as long as it counts. What was counted before, and codes under way, are gone: they lived for minutes.
 *
 * An account knows its mailbox, by which one person's addresses are found, and when its plan ends.
 */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const access: Migration = {
  async up(db, { whole, bytes, serial, tableEnd }) {
    await db.schema.dropTable('counter').execute()
    await db.schema
      .createTable('attempt')
      .addColumn('id', serial)
      .addColumn('subject', 'text', (column) => column.notNull())
      .addColumn('ends_at', whole, (column) => column.notNull())
      .modifyEnd(tableEnd)
      .execute()
    await db.schema.createIndex('attempt_subject').on('attempt').columns(['subject', 'ends_at']).execute()
    await db.schema.createIndex('attempt_end').on('attempt').column('ends_at').execute()

    await db.schema.dropTable('mail_code').execute()
    await db.schema
      .createTable('mail_code')
      .addColumn('link', bytes, (column) => column.primaryKey().notNull())
      .addColumn('browser', bytes, (column) => column.notNull())
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('mailbox', 'text', (column) => column.notNull())
      .addColumn('network', 'text', (column) => column.notNull())
      .addColumn('known', whole, (column) => column.notNull().check(sql`known in (0, 1)`))
      .addColumn('code_hash', bytes, (column) => column.notNull())
      .addColumn('tries', whole, (column) => column.notNull())
      .addColumn('attempts', whole, (column) => column.notNull())
      .addColumn('password_hash', 'text')
      .addColumn('invite', 'text')
      .addColumn('used', whole, (column) => column.notNull().check(sql`used in (0, 1)`))
      .addColumn('created_at', whole, (column) => column.notNull())
      .addCheckConstraint('mail_code_tries', sql`attempts between 0 and tries`)
      .modifyEnd(tableEnd)
      .execute()
    await db.schema.createIndex('mail_code_browser').on('mail_code').columns(['browser', 'address']).execute()
    await db.schema.createIndex('mail_code_mailbox').on('mail_code').column('mailbox').execute()
    await db.schema.createIndex('mail_code_network').on('mail_code').column('network').execute()
    await db.schema.createIndex('mail_code_created').on('mail_code').column('created_at').execute()

    await db.schema.alterTable('account').addColumn('plan_until', whole).execute()
    await db.schema.alterTable('account').addColumn('mailbox', 'text').execute()
    await db.schema.createIndex('account_mailbox').on('account').column('mailbox').execute()
    await db.schema.createIndex('account_plan_until').on('account').column('plan_until').execute()
    const accounts = await db.selectFrom('account').select(['id', 'email']).where('email', 'is not', null).execute()
    for (const { id, email } of accounts) {
      if (email === null) continue
      await db
        .updateTable('account')
        .set({ mailbox: mailboxIn2026(email) })
        .where('id', '=', id)
        .execute()
    }
  },
}

/** As the service reads addresses when this step is released; what it makes of them later is a later step's. */
function mailboxIn2026(email: string): string {
  const at = email.lastIndexOf('@')
  const domain = email.slice(at + 1)
  const [base = ''] = email.slice(0, at).split('+')
  if (domain === 'gmail.com' || domain === 'googlemail.com') return `${base.replaceAll('.', '')}@gmail.com`
  return `${base}@${domain}`
}
