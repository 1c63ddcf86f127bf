/** Targets that an operator has taken out until a time. */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const takenOutTargets: Migration = {
  name: '0014-taken-out-targets',
  readableBy: '0001-initial',
  async up(db, { whole, tableEnd }) {
    const statement = `create table taken_out_target (
      target text not null primary key,
      taken_out_at ${whole} not null,
      ends_at ${whole} not null,
      reason text not null
    ) ${tableEnd}`
    await sql.raw(statement).execute(db)
  },
}
