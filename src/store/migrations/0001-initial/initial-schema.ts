/**
 * The first schema of both databases. Triggers do two things that no writer may forget, in whichever process it runs: they record whose
 * credentials changed, and they refuse changes to the ledger's final rows.
 */
import { sql } from 'kysely'
import type { Migration } from '../migration.ts'
import { createLedgerTables } from './ledger-tables.ts'
import { createMembershipTables } from './membership-tables.ts'
import { postgresTables } from './postgres-tables.ts'
import { sqliteTables } from './sqlite-tables.ts'

export const initialSchema: Migration = {
  name: '0001-initial',
  async up(db, dialect) {
    const ownTables = dialect.database === 'sqlite' ? sqliteTables : postgresTables
    for (const statement of [...createMembershipTables(dialect), ...createLedgerTables(dialect), ...ownTables])
      await sql.raw(statement).execute(db)

    const { after, sealed, kept } = dialect
    const recordChange = (account: string) => sql`insert into account_change (account) values (${sql.raw(account)})`
    const isPruned = sql`exists (select 1 from checkpoint where checkpoint.account = old.account and checkpoint.seq >= old.seq)`
    for (const statement of [
      after('account_changed', 'account', { update: ['plan', 'status', 'email'] }, null, recordChange('new.id')),
      after('api_key_revoked', 'api_key', { update: ['revoked_at'] }, null, recordChange('new.account')),
      after('session_ended', 'session', 'delete', null, recordChange('old.account')),
      after('session_renewed', 'session', { update: ['hash'] }, null, recordChange('old.account')),
      after(
        'oauth_client_disconnected',
        'session',
        'delete',
        sql`old.oauth_client is not null`,
        sql`delete from oauth_record where session = old.id`,
      ),
      ...sealed('ledger_account'),
      ...kept('entry', { change: sql`true`, deletion: sql`not ${isPruned}` }),
      ...kept('turn', { change: null, deletion: sql`old.state = 'held' or not ${isPruned}` }),
    ])
      await statement.execute(db)
  },
}
