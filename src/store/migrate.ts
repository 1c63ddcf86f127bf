/**
 * Brings a database to this version's schema: numbered steps, each in a transaction of its own, so that a start that was interrupted is
 * taken up by the next one, and two processes or nodes that start together share the work.
 */
import { setTimeout as after } from 'node:timers/promises'
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

/** How often a step is tried whose tables are in use (a copy may be made of them, or the ledger proven), and how long it rests in between. */
const mostTries = 200
const restMs = 1_000

/**
 * Throws when the database was made by a newer version: writing to it could break promises that this version does not know. Where nodes
 * share one, the newer version may have said of its steps that this one still works beside it; and throws where it has not, and nodes work.
 * `onRest` hears when a step waits for a table.
 */
export async function migrate(
  db: Kysely<Schema>,
  dialect: Dialect,
  now: () => number,
  list = migrations,
  onRest: (step: string) => void = () => {},
): Promise<void> {
  await inTurn(db, dialect, async (transaction) => {
    const table = transaction.schema
      .createTable('migration')
      .ifNotExists()
      .addColumn('name', 'text', (column) => column.primaryKey().notNull())
      .addColumn('applied_at', dialect.whole, (column) => column.notNull())
    await (dialect.sharing === null ? table : table.addColumn('readable_by', 'text')).modifyEnd(dialect.tableEnd).execute()
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
    const step = () =>
      inTurn(db, dialect, async (transaction) => {
        // Asked inside the transaction: another process may have done this step a moment ago.
        if ((await appliedIn(transaction)).some((done) => done.name === name)) return
        if (applied.length > 0 && readableBy === undefined) await refuseBesideNodes(transaction, dialect, name)
        await up(transaction, dialect)
        const row = { name, applied_at: now() }
        await transaction
          .insertInto('migration')
          .values(dialect.sharing === null ? row : { ...row, readable_by: readableBy ?? null })
          .execute()
      })
    await whenFree(dialect, step, () => onRest(name))
  }
}

/** @throws Unusable where nodes work that would go on, and do not know what is to be changed */
async function refuseBesideNodes(db: Kysely<Schema>, { sharing }: Dialect, step: string): Promise<void> {
  const alive = (await sharing?.alive(db)) ?? 0
  if (alive > 0)
    throw new Unusable(
      `${alive} ${alive === 1 ? 'server' : 'servers'} of an older version ${alive === 1 ? 'works' : 'work'} on this database, and cannot go on beside this version's change of it ("${step}"). Stop them all first; one that was killed counts for seventeen seconds.`,
    )
}

/** Turns go on while a table is in use, and the step between them. */
async function whenFree({ sharing }: Dialect, step: () => Promise<void>, onRest: () => void): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await step()
      return
    } catch (error) {
      if (tries === mostTries || sharing?.isInUse(error) !== true) throw error
      if (tries === 1) onRest()
      await after(restMs)
    }
  }
}

function inTurn(db: Kysely<Schema>, { sharing }: Dialect, work: (transaction: Kysely<Schema>) => Promise<void>): Promise<void> {
  return db.transaction().execute(async (transaction) => {
    await sharing?.lock.execute(transaction)
    await work(transaction)
  })
}

function appliedIn(db: Kysely<Schema>): Promise<readonly Selectable<MigrationTable>[]> {
  return db.selectFrom('migration').selectAll().execute()
}
