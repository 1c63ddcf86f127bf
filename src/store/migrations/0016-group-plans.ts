/** The sign-in provider whose groups give a subscription. */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const groupPlans: Migration = {
  name: '0016-group-plans',
  readableBy: '0001-initial',
  async up(db) {
    await sql.raw('alter table subscription add column provider text').execute(db)
  },
}
