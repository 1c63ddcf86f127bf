/**
 * The ledger's tables. The CHECK constraints are the last net under the code: a bucket can never hold more than it was granted, whatever
 * wrote to it. Indexes are partial wherever only open or unspent rows are ever asked for, so that a turn costs the same however long the
 * log has become.
 */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const ledger: Migration = {
  async up(db, { whole, bytes, serial, logSerial, tableEnd, clusteredTableEnd, sealed }) {
    const amount = (name: string) => sql`${sql.ref(name)} >= 0`

    await db.schema
      .createTable('process')
      .addColumn('id', serial)
      .addColumn('name', 'text', (column) => column.notNull().unique())
      .addColumn('pid', whole, (column) => column.notNull())
      .addColumn('started_at', whole, (column) => column.notNull())
      .modifyEnd(tableEnd)
      .execute()

    let purse = db.schema
      .createTable('purse')
      .addColumn('account', 'text', (column) => column.primaryKey().notNull().references('account.id'))
      .addColumn('seq', whole, (column) => column.notNull().check(amount('seq')))
      .addColumn('hash', bytes, (column) => column.notNull())
      .addColumn('last_turn', whole, (column) => column.notNull())
    for (const name of ['fast_day', 'fast_week', 'fast_month', 'premium_day', 'premium_week', 'premium_month']) {
      for (const field of ['id', 'starts_at', 'ends_at', 'granted', 'reserved', 'settled', 'debt']) {
        purse = purse.addColumn(`${name}_${field}`, whole, (column) => column.notNull().defaultTo(0))
      }
      const part = (field: string) => sql.ref(`${name}_${field}`)
      purse = purse.addCheckConstraint(
        `${name}_not_overdrawn`,
        sql`${part('reserved')} >= 0 and ${part('debt')} between 0 and ${part('settled')}
          and ${part('reserved')} + ${part('settled')} - ${part('debt')} <= ${part('granted')}`,
      )
    }
    await purse.modifyEnd(clusteredTableEnd).execute()

    await db.schema
      .createTable('bucket')
      .addColumn('account', 'text', (column) => column.notNull().references('account.id'))
      .addColumn('id', whole, (column) => column.notNull())
      .addColumn('pool', 'text', (column) => column.notNull().check(sql`pool in ('fast', 'premium')`))
      .addColumn('window', 'text', (column) => column.notNull().check(sql`"window" in ('day', 'week', 'month')`))
      .addColumn('starts_at', whole, (column) => column.notNull())
      .addColumn('ends_at', whole, (column) => column.notNull())
      .addColumn('granted', whole, (column) => column.notNull().check(amount('granted')))
      .addColumn('reserved', whole, (column) => column.notNull().check(amount('reserved')))
      .addColumn('settled', whole, (column) => column.notNull().check(amount('settled')))
      .addColumn('debt', whole, (column) => column.notNull().check(amount('debt')))
      .addPrimaryKeyConstraint('bucket_key', ['account', 'id'])
      .addUniqueConstraint('bucket_once', ['account', 'pool', 'window', 'starts_at'])
      .addCheckConstraint('bucket_period', sql`ends_at > starts_at`)
      .addCheckConstraint('bucket_not_overdrawn', sql`debt <= settled and reserved + settled - debt <= granted`)
      .modifyEnd(clusteredTableEnd)
      .execute()

    await db.schema
      .createTable('pack')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('account', 'text', (column) => column.notNull().references('account.id'))
      .addColumn('kind', 'text', (column) => column.notNull().check(sql`kind in ('checkin', 'invite', 'rush', 'grant')`))
      .addColumn('pool', 'text', (column) => column.notNull().check(sql`pool in ('fast', 'premium')`))
      .addColumn('granted', whole, (column) => column.notNull().check(amount('granted')))
      .addColumn('reserved', whole, (column) => column.notNull().check(amount('reserved')))
      .addColumn('settled', whole, (column) => column.notNull().check(amount('settled')))
      .addColumn('expires_at', whole, (column) => column.notNull())
      .addColumn('created_at', whole, (column) => column.notNull())
      .addCheckConstraint('pack_not_overdrawn', sql`reserved + settled <= granted`)
      .modifyEnd(tableEnd)
      .execute()
    await db.schema
      .createIndex('pack_unspent')
      .on('pack')
      .columns(['account', 'pool', 'expires_at', 'id'])
      .where(sql<boolean>`settled < granted`)
      .execute()

    await db.schema
      .createTable('turn')
      .addColumn('id', logSerial)
      .addColumn('previous', whole, (column) => column.notNull())
      .addColumn('request_id', 'text', (column) => column.notNull())
      .addColumn('account', 'text', (column) => column.notNull())
      .addColumn('model', 'text', (column) => column.notNull())
      .addColumn('pool', 'text', (column) => column.notNull())
      // For a list SQLite makes a table at every check, which was a tenth of all that a turn costs the writer. Databases that are older than
      // this was known have the list, and refuse the same.
      .addColumn('state', 'text', (column) =>
        column.notNull().check(sql`state = 'held' or state = 'settled' or state = 'refunded' or state = 'expired'`),
      )
      .addColumn('owner', whole, (column) => column.notNull())
      .addColumn('until', whole, (column) => column.notNull())
      .addColumn('started_at', whole, (column) => column.notNull())
      .addColumn('ended_at', whole)
      .addColumn('reserved', whole, (column) => column.notNull().check(amount('reserved')))
      .addColumn('reserved_plan', whole, (column) => column.notNull().check(amount('reserved_plan')))
      .addColumn('reserved_packs', 'text')
      .addColumn('day_bucket', whole, (column) => column.notNull())
      .addColumn('week_bucket', whole, (column) => column.notNull())
      .addColumn('month_bucket', whole, (column) => column.notNull())
      .addColumn('credits', whole, (column) => column.notNull().check(amount('credits')))
      .addColumn('debt', whole, (column) => column.notNull().check(amount('debt')))
      .addColumn('price_input', whole, (column) => column.notNull())
      .addColumn('price_output', whole, (column) => column.notNull())
      .addColumn('discount_percent', whole, (column) => column.notNull())
      .addColumn('input_tokens', whole, (column) => column.notNull().check(amount('input_tokens')))
      .addColumn('output_tokens', whole, (column) => column.notNull().check(amount('output_tokens')))
      .addColumn('estimated', whole, (column) => column.notNull())
      .addColumn('code', 'text')
      .addColumn('upstream_status', whole)
      .addColumn('target', 'text')
      .addColumn('idempotency_key', 'text')
      .addColumn('body_hash', 'text')
      .addCheckConstraint('turn_one_ending', sql`(state = 'held') = (ended_at is null)`)
      .addCheckConstraint('turn_charged_only_when_settled', sql`state = 'settled' or (credits = 0 and debt = 0)`)
      .modifyEnd(tableEnd)
      .execute()
    await db.schema
      .createIndex('turn_held')
      .on('turn')
      .columns(['until', 'owner'])
      .where(sql<boolean>`state = 'held'`)
      .execute()
    // At most one charge for a key: a turn that was given back no longer counts, so the key may run again.
    await db.schema
      .createIndex('turn_idempotency')
      .unique()
      .on('turn')
      .columns(['account', 'idempotency_key'])
      .where(sql<boolean>`idempotency_key is not null and state in ('held', 'settled')`)
      .execute()

    // In the order they were made, with no index: written at the end only, and read as a whole only.
    await db.schema
      .createTable('entry')
      .addColumn('id', logSerial)
      .addColumn('account', 'text', (column) => column.notNull())
      .addColumn('seq', whole, (column) => column.notNull().check(sql`seq > 0`))
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('at', whole, (column) => column.notNull())
      .addColumn('turn', whole)
      .addColumn('plan', whole, (column) => column.notNull().check(amount('plan')))
      .addColumn('debt', whole, (column) => column.notNull().check(amount('debt')))
      .addColumn('detail', 'text')
      .addColumn('hash', bytes, (column) => column.notNull())
      .modifyEnd(tableEnd)
      .execute()
    for (const statement of sealed('entry')) await statement.execute(db)
  },
}
