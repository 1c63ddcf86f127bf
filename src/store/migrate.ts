/**
 * Brings a database to this version's schema: numbered steps, each in a transaction of its own, so that a start that was interrupted is
 * taken up by the next one, and two processes or nodes that start together share the work.
 */
import type { Kysely, Selectable } from 'kysely'
import { Unusable } from '../system/unusable.ts'
import { migrations } from './migrations/all.ts'
import type { Dialect } from './migrations/migration.ts'
import type { MigrationTable, Schema } from './schema.ts'

/** Stands among the steps of a database that an installation is being moved to: until all of it is there, nobody may work with it. */
export const underWay = 'moving'

/** Whether a database with these steps is of this very version, so that there is nothing to do or to refuse. */
export function isCurrent(applied: readonly string[], list = migrations): boolean {
  return applied.length === list.length && list.every(({ name }) => applied.includes(name))
}

/**
 * Throws when the database was made by a newer version: writing to it could break promises that this version does not know. Where nodes
 * share one, the newer version may have said of its steps that this one still works beside it.
 */
export async function migrate(db: Kysely<Schema>, dialect: Dialect, now: () => number, list = migrations): Promise<void> {
  await inTurn(db, dialect, async (transaction) => {
    const table = transaction.schema
      .createTable('migration')
      .ifNotExists()
      .addColumn('name', 'text', (column) => column.primaryKey().notNull())
      .addColumn('applied_at', dialect.whole, (column) => column.notNull())
    await (isShared(dialect) ? table.addColumn('readable_by', 'text') : table).modifyEnd(dialect.tableEnd).execute()
  })
  const known = new Set(list.map((migration) => migration.name))
  const applied = await appliedIn(db)
  if (applied.some(({ name }) => name === underWay))
    throw new Unusable(
      'An installation is being moved to this database, and is not all there. Run svc-gateway migrate-store again until it says that it is done.',
    )
  const foreign = applied.find(
    ({ name, readable_by: by }) => !known.has(name) && !(by !== undefined && by !== null && known.has(by)),
  )
  if (foreign !== undefined) {
    throw new Unusable(
      `This database was made by a newer version of svc-gateway (it has the schema change "${foreign.name}"). Start that version, or restore a backup.`,
    )
  }
  for (const { name, readableBy, load } of list) {
    if (applied.some((step) => step.name === name)) continue
    // Loaded before, because everybody waits for a transaction.
    const { up } = await load()
    await inTurn(db, dialect, async (transaction) => {
      // Asked inside the transaction: another process may have done this step a moment ago.
      if ((await appliedIn(transaction)).some((step) => step.name === name)) return
      await up(transaction, dialect)
      const row = { name, applied_at: now() }
      await transaction
        .insertInto('migration')
        .values(isShared(dialect) ? { ...row, readable_by: readableBy ?? null } : row)
        .execute()
    })
  }
}

/** Several nodes, of two versions at times, work on one database; on SQLite one server does. */
function isShared({ lock }: Dialect): boolean {
  return lock !== null
}

function inTurn(db: Kysely<Schema>, { lock }: Dialect, work: (transaction: Kysely<Schema>) => Promise<void>): Promise<void> {
  return db.transaction().execute(async (transaction) => {
    await lock?.execute(transaction)
    await work(transaction)
  })
}

function appliedIn(db: Kysely<Schema>): Promise<readonly Selectable<MigrationTable>[]> {
  return db.selectFrom('migration').selectAll().execute()
}
