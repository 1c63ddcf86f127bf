/** A new database on PostgreSQL: all that SQLite's steps up to 0012 have come to, at once, and the tables of nodes that share it. */
import { sql } from 'kysely'
import type { Migration } from '../migrations/migration.ts'
import { clusterTables } from './schema-cluster.ts'
import { ledgerTables } from './schema-ledger.ts'
import { membershipTables } from './schema-membership.ts'

export const firstStep: Migration = {
  async up(db, { sealed, kept, after }) {
    for (const tables of [membershipTables, ledgerTables, clusterTables]) await sql.raw(tables).execute(db)

    const noteOld = sql`insert into account_change (account) values (old.account)`
    const cutOff = sql`exists (select 1 from checkpoint where checkpoint.account = old.account and checkpoint.seq >= old.seq)`
    for (const statement of [
      after(
        'account_changed',
        'account',
        { update: ['plan', 'status', 'email'] },
        null,
        sql`insert into account_change (account) values (new.id)`,
      ),
      after('key_revoked', 'api_key', { update: ['revoked_at'] }, null, noteOld),
      after('session_ended', 'session', 'delete', null, noteOld),
      after('session_renewed', 'session', { update: ['hash'] }, null, noteOld),
      after(
        'app_disconnected',
        'session',
        'delete',
        sql`old.app is not null`,
        sql`delete from app_record where session = old.id`,
      ),
      ...sealed('roster'),
      ...kept('entry', { change: sql`true`, deletion: sql`not ${cutOff}` }),
      ...kept('turn', { change: null, deletion: sql`old.state = 'held' or not ${cutOff}` }),
    ]) {
      await statement.execute(db)
    }
  },
}
