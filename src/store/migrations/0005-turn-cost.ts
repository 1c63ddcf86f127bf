/**
 * The columns of a turn that reports need, and the version of its link's hash. Rows are not rewritten: those of older versions keep version 1.
 * A server of an older version works with the new columns, and ends turns with links of version 1; only its verification reports links of
 * version 2 as changed.
 */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const turnCost: Migration = {
  name: '0005-turn-cost',
  readableBy: '0001-initial',
  async up(db, { whole }) {
    for (const column of [
      'plan text',
      'upstream_model text',
      'upstream_response_id text',
      `upstream_cost_nanodollars ${whole}`,
      `hash_version ${whole} not null default 1`,
    ])
      await sql.raw(`alter table turn add column ${column}`).execute(db)
  },
}
