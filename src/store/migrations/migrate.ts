/**
 * Brings a database to this version's schema. A new database is made in one transaction. In an older one each migration runs in a transaction
 * of its own, so an interrupted start is continued by the next one, and processes or nodes that start together share the work.
 */
import { systemClock } from '../../system/clock.ts'
import { sql } from 'kysely'
import type { Kysely, Selectable } from 'kysely'
import { OperatorError } from '../../system/operator-error.ts'
import { migrations } from './migrations.ts'
import type { Dialect, Migration } from './migration.ts'
import type { MigrationTable, Schema } from '../schema/schema.ts'

/** Recorded like a migration in a database that an installation is being moved to; until the move is complete the database is refused. */
export const transferInProgress = 'moving'

/** Whether a database with these migrations is of exactly this version: nothing to do, nothing to refuse. */
export function isUpToDate(appliedNames: readonly string[], list = migrations): boolean {
  return appliedNames.length === list.length && list.every(({ name }) => appliedNames.includes(name))
}

/** Whether it is a database of an older version, which this one can migrate. */
export function isOlder(appliedNames: readonly string[], list = migrations): boolean {
  const isKnown = (name: string): boolean => list.some((migration) => migration.name === name)
  return appliedNames.length > 0 && appliedNames.length < list.length && appliedNames.every(isKnown)
}

/** How often a migration is tried while its tables are in use (a backup or a verification reads them), and the pause in between. */
const maxTries = 200
const retryDelayMs = 1_000

/**
 * Runs the migrations that are missing. `onWait` is called once when a migration waits for a table in use.
 * @throws OperatorError where the database was made by a newer version, because writing to it could break rules that this version does not
 * have; on a shared database a newer version may have recorded that this one can still work with it. Also where older nodes are running
 * that cannot work with the new schema.
 */
export async function migrate(
  db: Kysely<Schema>,
  dialect: Dialect,
  now: () => number,
  list = migrations,
  onWait: (name: string) => void = () => {},
): Promise<void> {
  await runExclusively(db, dialect, async (transaction) => {
    const readableBy = dialect.sharing === null ? '' : ', readable_by text'
    await sql
      .raw(
        `create table if not exists migration (name text not null primary key, applied_at ${dialect.whole} not null${readableBy}) ${dialect.tableEnd}`,
      )
      .execute(transaction)
  })
  const knownNames = new Set(list.map((migration) => migration.name))
  const appliedMigrations = await readAppliedMigrations(db)
  if (appliedMigrations.some(({ name }) => name === transferInProgress))
    throw new OperatorError(
      'An installation is being moved to this database, and is not complete. Run svc-gateway migrate-store again until it reports that it is done.',
    )
  const newerMigration = appliedMigrations.find(
    ({ name, readable_by: by }) => !knownNames.has(name) && !(by !== undefined && by !== null && knownNames.has(by)),
  )
  if (newerMigration !== undefined) {
    const [first] = list
    // Released migrations stay, so every newer version has the first one too.
    if (first !== undefined && !appliedMigrations.some(({ name }) => name === first.name))
      throw new OperatorError(
        `This database has an older layout than this version of svc-gateway can read (it has "${newerMigration.name}", and not "${first.name}"). Start the version that made it, or begin with an empty database.`,
      )
    throw new OperatorError(
      `This database was made by a newer version of svc-gateway (it has the schema change "${newerMigration.name}"). Start that version, or restore a backup.`,
    )
  }
  const isNew = appliedMigrations.length === 0
  const run = async (transaction: Kysely<Schema>, { name, readableBy, up }: Migration): Promise<void> => {
    if (!isNew && readableBy === undefined) await assertNoOtherNodes(transaction, dialect, name)
    await up(transaction, dialect)
    const row = { name, applied_at: now() }
    await transaction
      .insertInto('migration')
      .values(dialect.sharing === null ? row : { ...row, readable_by: readableBy ?? null })
      .execute()
  }
  // A new database gets its layout at once: another process would take one that is half made for one of an older version.
  for (const batch of isNew ? [list] : list.map((migration) => [migration])) {
    const missingMigrations = batch.filter(({ name }) => !appliedMigrations.some((migration) => migration.name === name))
    const [first] = missingMigrations
    if (first === undefined) continue
    const runMissing = () =>
      runExclusively(db, dialect, async (transaction) => {
        // Read inside the transaction: another process may have run them a moment ago.
        const alreadyApplied = await readAppliedMigrations(transaction)
        for (const migration of missingMigrations)
          if (!alreadyApplied.some(({ name }) => name === migration.name)) await run(transaction, migration)
      })
    await retryWhileInUse(dialect, runMissing, () => onWait(first.name))
  }
}

/** @throws OperatorError where older nodes are running that cannot work with the new schema */
async function assertNoOtherNodes(db: Kysely<Schema>, { sharing }: Dialect, name: string): Promise<void> {
  const nodes = (await sharing?.countAliveNodes(db)) ?? 0
  if (nodes > 0)
    throw new OperatorError(
      `${nodes} ${nodes === 1 ? 'server' : 'servers'} of an older version ${nodes === 1 ? 'works' : 'work'} on this database, and cannot continue beside this version's schema change ("${name}"). Stop them all first; a killed server counts for seventeen seconds.`,
    )
}

/** Turns continue while a table is in use; the migration runs between them. */
async function retryWhileInUse({ sharing }: Dialect, run: () => Promise<void>, onWait: () => void): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await run()
      return
    } catch (error) {
      if (tries === maxTries || sharing?.isInUse(error) !== true) throw error
      if (tries === 1) onWait()
      await systemClock.wait(retryDelayMs)
    }
  }
}

function runExclusively(
  db: Kysely<Schema>,
  { sharing }: Dialect,
  work: (transaction: Kysely<Schema>) => Promise<void>,
): Promise<void> {
  return db.transaction().execute(async (transaction) => {
    await sharing?.lock.execute(transaction)
    await work(transaction)
  })
}

function readAppliedMigrations(db: Kysely<Schema>): Promise<readonly Selectable<MigrationTable>[]> {
  return db.selectFrom('migration').selectAll().execute()
}
