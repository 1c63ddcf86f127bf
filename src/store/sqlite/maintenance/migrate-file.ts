/** Reads and updates the schema version of a database file. */
import { migrate } from '../../migrations/migrate.ts'
import type { Migration } from '../../migrations/migration.ts'
import type { Connection } from '../connection/connection.ts'
import { defaultBusyTimeoutMs, defaultCheckpointPages } from '../connection/connection.ts'
import { createWriteKysely, sqliteDialect } from '../dialect.ts'
import { Writer } from '../writer/writer.ts'
import { spawnWriter } from '../writer/writer-connection.ts'

/** Names of the applied migrations; none if the file is not a database of this service. */
export function readMigrationNames(db: Connection): readonly string[] {
  const exists = db.prepare(`select 1 from sqlite_schema where name = 'migration'`).get() !== undefined
  return exists ? (db.prepare('select name from migration').pluck().all() as string[]) : []
}

/** Migrates a file that no other process uses, and leaves it without a WAL. */
export async function migrateFile(file: string, now: () => number, migrations: readonly Migration[]): Promise<void> {
  const writer = new Writer(
    spawnWriter({ file, busyTimeoutMs: defaultBusyTimeoutMs, allowCreate: false, checkpointPages: defaultCheckpointPages }),
  )
  try {
    await writer.ready()
    await migrate(createWriteKysely(writer), sqliteDialect, now, migrations)
  } finally {
    await writer.close()
  }
}
