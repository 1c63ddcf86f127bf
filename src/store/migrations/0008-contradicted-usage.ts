/** What an upstream reported for a turn that was charged by our own count, because the report contradicts what passed. */
import type { Migration } from './migration.ts'

export const contradictedUsage: Migration = {
  async up(db, { whole }) {
    await db.schema.alterTable('turn').addColumn('contradicted_input', whole).execute()
    await db.schema.alterTable('turn').addColumn('contradicted_output', whole).execute()
  },
}
