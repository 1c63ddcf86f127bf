/**
 * Brings a database to this version's schema: numbered steps, each in a transaction of its own, so that a start that was interrupted is
 * taken up by the next one, and two processes that start together share the work.
 */
import type { Kysely } from 'kysely'
import { Unusable } from '../system/unusable.ts'
import { migrations } from './migrations/all.ts'
import type { Dialect } from './migrations/migration.ts'
import type { Schema } from './schema.ts'

/** Whether a database with these steps is of this very version, so that there is nothing to do or to refuse. */
export function isCurrent(applied: readonly string[]): boolean {
  return applied.length === migrations.length && migrations.every(({ name }) => applied.includes(name))
}

/** Throws when the database was made by a newer version: writing to it could break promises that this version does not know. */
export async function migrate(db: Kysely<Schema>, dialect: Dialect, now: () => number, list = migrations): Promise<void> {
  await db.schema
    .createTable('migration')
    .ifNotExists()
    .addColumn('name', 'text', (column) => column.primaryKey().notNull())
    .addColumn('applied_at', dialect.whole, (column) => column.notNull())
    .modifyEnd(dialect.tableEnd)
    .execute()
  const known = new Set(list.map((migration) => migration.name))
  const applied = new Set(await appliedIn(db))
  const foreign = [...applied].find((name) => !known.has(name))
  if (foreign !== undefined) {
    throw new Unusable(
      `This database was made by a newer version of svc-gateway (it has the schema change "${foreign}"). Start that version, or restore a backup.`,
    )
  }
  for (const migration of list) {
    if (applied.has(migration.name)) continue
    // Loaded before, because everybody waits for a transaction.
    const { up } = await migration.load()
    await db.transaction().execute(async (transaction) => {
      // Asked inside the transaction: another process may have done this step a moment ago.
      if ((await appliedIn(transaction)).includes(migration.name)) return
      await up(transaction, dialect)
      await transaction.insertInto('migration').values({ name: migration.name, applied_at: now() }).execute()
    })
  }
}

async function appliedIn(db: Kysely<Schema>): Promise<readonly string[]> {
  const rows = await db.selectFrom('migration').select('name').execute()
  return rows.map((row) => row.name)
}
