/**
 * Sign-in, sessions, devices, boosts, counters and the audit log.
 *
 * Two things are done by triggers because they must not be forgotten by any writer, whichever process it is in: noting whose credentials
 * changed, and noticing an invited account's first charged turn in the very transaction that settles it.
 */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const membership: Migration = {
  async up(db, { whole, bytes, serial, tableEnd, clusteredTableEnd, after }) {
    await db.schema
      .createTable('session')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('account', 'text', (column) => column.notNull().references('account.id'))
      .addColumn('kind', 'text', (column) => column.notNull().check(sql`kind in ('web', 'cli')`))
      .addColumn('method', 'text', (column) => column.notNull().check(sql`method in ('code', 'password', 'provider', 'device')`))
      .addColumn('hash', bytes, (column) =>
        column
          .notNull()
          .unique()
          .check(sql`length(hash) = 32`),
      )
      .addColumn('client', 'text')
      .addColumn('address', 'text')
      .addColumn('created_at', whole, (column) => column.notNull())
      .addColumn('last_used_at', whole, (column) => column.notNull())
      .addColumn('expires_at', whole, (column) => column.notNull())
      .modifyEnd(tableEnd)
      .execute()
    await db.schema.createIndex('session_account').on('session').column('account').execute()
    await db.schema.createIndex('session_end').on('session').column('expires_at').execute()

    await db.schema
      .createTable('account_change')
      .addColumn('seq', serial)
      .addColumn('account', 'text', (column) => column.notNull())
      .modifyEnd(tableEnd)
      .execute()
    const note = (row: 'old' | 'new', column: string) =>
      sql`insert into account_change (account) values (${sql.ref(`${row}.${column}`)})`
    for (const statement of [
      after('account_changed', 'account', { update: ['plan', 'status', 'email'] }, null, note('new', 'id')),
      after('key_revoked', 'api_key', { update: ['revoked_at'] }, null, note('new', 'account')),
      after('session_ended', 'session', 'delete', null, note('old', 'account')),
      after('session_renewed', 'session', { update: ['hash'] }, null, note('old', 'account')),
    ]) {
      await statement.execute(db)
    }

    await db.schema
      .createTable('mail_code')
      .addColumn('browser', bytes, (column) => column.notNull())
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('code_hash', bytes, (column) => column.notNull())
      .addColumn('password_hash', 'text')
      .addColumn('attempts', whole, (column) => column.notNull())
      .addColumn('created_at', whole, (column) => column.notNull())
      .addColumn('expires_at', whole, (column) => column.notNull())
      .addPrimaryKeyConstraint('mail_code_browser', ['browser', 'address'])
      .modifyEnd(clusteredTableEnd)
      .execute()

    await db.schema
      .createTable('identity')
      .addColumn('provider', 'text', (column) => column.notNull())
      .addColumn('subject', 'text', (column) => column.notNull())
      .addColumn('account', 'text', (column) => column.notNull().references('account.id'))
      .addColumn('created_at', whole, (column) => column.notNull())
      .addPrimaryKeyConstraint('identity_of', ['provider', 'subject'])
      .modifyEnd(clusteredTableEnd)
      .execute()
    await db.schema.createIndex('identity_account').on('identity').column('account').execute()

    await db.schema
      .createTable('provider_login')
      .addColumn('state', bytes, (column) => column.primaryKey().notNull())
      .addColumn('provider', 'text', (column) => column.notNull())
      .addColumn('nonce', 'text', (column) => column.notNull())
      .addColumn('verifier', 'text', (column) => column.notNull())
      .addColumn('next', 'text', (column) => column.notNull())
      .addColumn('invite', 'text')
      .addColumn('expires_at', whole, (column) => column.notNull())
      .modifyEnd(clusteredTableEnd)
      .execute()

    await db.schema
      .createTable('device_login')
      .addColumn('code_hash', bytes, (column) => column.primaryKey().notNull())
      .addColumn('user_code', 'text', (column) => column.notNull().unique())
      .addColumn('client', 'text', (column) => column.notNull())
      .addColumn('client_version', 'text')
      .addColumn('hostname', 'text')
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('network', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) =>
        column.notNull().check(sql`state in ('pending', 'claimed', 'approved', 'denied', 'redeemed')`),
      )
      .addColumn('account', 'text', (column) => column.references('account.id'))
      .addColumn('interval_seconds', whole, (column) => column.notNull())
      .addColumn('polled_at', whole)
      .addColumn('hurried', whole, (column) => column.notNull())
      .addColumn('started_at', whole, (column) => column.notNull())
      .addColumn('expires_at', whole, (column) => column.notNull())
      .addCheckConstraint('device_owner', sql`state in ('pending', 'denied') or account is not null`)
      .modifyEnd(tableEnd)
      .execute()

    await db.schema
      .createTable('invite_code')
      .addColumn('account', 'text', (column) => column.primaryKey().notNull().references('account.id'))
      .addColumn('code', 'text', (column) => column.notNull().unique())
      .modifyEnd(tableEnd)
      .execute()

    await db.schema
      .createTable('invite')
      .addColumn('invited', 'text', (column) => column.primaryKey().notNull().references('account.id'))
      .addColumn('inviter', 'text', (column) => column.notNull().references('account.id'))
      .addColumn('person', bytes, (column) => column.notNull().unique())
      .addColumn('inviter_person', bytes, (column) => column.notNull())
      .addColumn('state', 'text', (column) =>
        column.notNull().check(sql`state in ('pending', 'due', 'payable', 'capped', 'paid')`),
      )
      .addColumn('created_at', whole, (column) => column.notNull())
      .addColumn('decided_at', whole)
      .addCheckConstraint('not_oneself', sql`invited <> inviter and person <> inviter_person`)
      .modifyEnd(tableEnd)
      .execute()
    await db.schema.createIndex('invite_inviter').on('invite').columns(['inviter', 'decided_at']).execute()
    // Whole, not partial: a bound parameter does not tell the planner that a partial one would do.
    await db.schema.createIndex('invite_state').on('invite').column('state').execute()
    await after(
      'first_charged_turn',
      'turn',
      { update: ['state'] },
      sql`new.state = 'settled' and new.credits > 0`,
      sql`update invite set state = 'due' where invited = new.account and state = 'pending'`,
    ).execute(db)

    await db.schema
      .createTable('rush')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('packs', whole, (column) => column.notNull().check(sql`packs > 0`))
      .addColumn('pool', 'text', (column) => column.notNull().check(sql`pool in ('fast', 'premium')`))
      .addColumn('credits', whole, (column) => column.notNull().check(sql`credits > 0`))
      .addColumn('pack_ms', whole, (column) => column.notNull().check(sql`pack_ms > 0`))
      .addColumn('starts_at', whole, (column) => column.notNull())
      .addColumn('ends_at', whole, (column) => column.notNull())
      .addColumn('opened_at', whole, (column) => column.notNull())
      .addCheckConstraint('rush_span', sql`ends_at > starts_at`)
      .modifyEnd(tableEnd)
      .execute()
    await db.schema.createIndex('rush_end').on('rush').column('ends_at').execute()

    await db.schema
      .createTable('boost_claim')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('account', 'text', (column) => column.notNull().references('account.id'))
      .addColumn('kind', 'text', (column) => column.notNull().check(sql`kind in ('checkin', 'invite', 'rush', 'grant')`))
      .addColumn('pool', 'text', (column) => column.notNull().check(sql`pool in ('fast', 'premium')`))
      .addColumn('credits', whole, (column) => column.notNull().check(sql`credits >= 0`))
      .addColumn('rush', 'text', (column) => column.references('rush.id'))
      .addColumn('at', whole, (column) => column.notNull())
      .addColumn('expires_at', whole, (column) => column.notNull())
      .addColumn('granted', whole, (column) => column.notNull().check(sql`granted in (0, 1)`))
      .modifyEnd(tableEnd)
      .execute()
    await db.schema
      .createIndex('boost_claim_rush')
      .on('boost_claim')
      .column('rush')
      .where(sql<boolean>`rush is not null`)
      .execute()
    await db.schema.createIndex('boost_claim_open').on('boost_claim').columns(['granted', 'at']).execute()

    await db.schema
      .createTable('counter')
      .addColumn('subject', 'text', (column) => column.primaryKey().notNull())
      .addColumn('count', whole, (column) => column.notNull())
      .addColumn('resets_at', whole, (column) => column.notNull())
      .modifyEnd(clusteredTableEnd)
      .execute()

    await db.schema
      .createTable('audit')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('account', 'text')
      .addColumn('event', 'text', (column) => column.notNull())
      .addColumn('at', whole, (column) => column.notNull())
      .addColumn('address', 'text')
      .addColumn('request_id', 'text')
      .addColumn('detail', 'text')
      .modifyEnd(tableEnd)
      .execute()
    await db.schema.createIndex('audit_account').on('audit').columns(['account', 'id']).execute()
    await db.schema.createIndex('audit_at').on('audit').column('at').execute()
  },
}
