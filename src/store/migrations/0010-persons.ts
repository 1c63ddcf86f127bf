/** What a person has used of the periods at hand, kept under a keyed hash when their account is forgotten, until each period is over. */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const persons: Migration = {
  async up(db, { whole, bytes, clusteredTableEnd }) {
    await db.schema
      .createTable('person_use')
      .addColumn('person', bytes, (column) => column.notNull().check(sql`length(person) = 32`))
      .addColumn('pool', 'text', (column) => column.notNull().check(sql`pool in ('fast', 'premium')`))
      .addColumn('window', 'text', (column) => column.notNull().check(sql`"window" in ('day', 'week', 'month')`))
      .addColumn('starts_at', whole, (column) => column.notNull())
      .addColumn('ends_at', whole, (column) => column.notNull())
      .addColumn('used', whole, (column) => column.notNull().check(sql`used > 0`))
      .addPrimaryKeyConstraint('person_use_key', ['person', 'pool', 'window', 'starts_at'])
      .modifyEnd(clusteredTableEnd)
      .execute()
    await db.schema.createIndex('person_use_end').on('person_use').column('ends_at').execute()
  },
}
