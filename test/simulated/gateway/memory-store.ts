/** The store on a database in memory, in one thread: the real repositories and the real ledger, whose journal is a list. */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import type { Verification } from '../../../src/domain/billing/ledger.ts'
import type { Store } from '../../../src/domain/store.ts'
import type { EndingOrder } from '../../../src/store/ledger/orders.ts'
import { createRepositories } from '../../../src/store/repositories/repositories.ts'
import { createReadQuery } from '../../../src/store/sqlite/connection/statement-cache.ts'
import { createDatabase } from '../../../src/store/sqlite/dialect.ts'
import { verifyDatabaseFile } from '../../../src/store/sqlite/maintenance/ledger-snapshot.ts'
import { PendingSettlements } from '../../../src/store/sqlite/settlement-retry.ts'
import { createSqliteLedger } from '../../../src/store/sqlite/sqlite-ledger.ts'
import { CommitDelay } from '../../../src/store/sqlite/writer/commit-delay.ts'
import { Writer } from '../../../src/store/sqlite/writer/writer.ts'
import { getTemplateDatabase } from '../../runner/template-database.ts'
import type { SimulatedClock } from '../../support/simulated-clock.ts'
import { InThreadWriter } from './in-thread-writer.ts'

export interface MemoryStore {
  readonly store: Store
  readonly db: Sqlite.Database
  readonly writer: InThreadWriter
  /** Settlements that the database refused. */
  readonly journal: readonly EndingOrder[]
  verify(): Verification
  close(): Promise<void>
}

/** `folder` has the lock of the process. */
export async function openMemoryStore(folder: string, clock: SimulatedClock): Promise<MemoryStore> {
  const image = readFileSync(await getTemplateDatabase())
  // A database in memory has no log of its own to write ahead.
  image.fill(1, 18, 20)
  const db = new Sqlite(image)
  db.pragma('foreign_keys = on')
  const writer = new InThreadWriter(db, join(folder, 'memory.db'))
  const connection = new Writer(writer.connect, undefined, undefined, false, new CommitDelay(clock.monotonicMs))
  await connection.register('simulated', process.pid, clock.now())
  const database = createDatabase(createReadQuery(db), connection)
  const health = { unhealthyReason: null, recordFault: () => undefined }
  const journal: EndingOrder[] = []
  const settlements = new PendingSettlements(
    connection,
    {
      append: async (order) => journal.push(order) > 0,
      clear: () => void journal.splice(0),
      close: async () => undefined,
    },
    { info() {}, error() {}, fatal() {} },
    { clock },
  )
  // The ledger verifies files.
  const verify = (): Verification => {
    const file = join(folder, 'copy.db')
    db.exec(`vacuum into '${file}'`)
    const verification = verifyDatabaseFile(file)
    rmSync(file)
    return verification
  }
  const ledger = {
    ...createSqliteLedger(connection, database, 'memory', health, settlements),
    verify: async () => verify(),
  }
  return {
    store: { cluster: null, ...createRepositories(database), ledger } as unknown as Store,
    db,
    writer,
    journal,
    verify,
    async close() {
      await settlements.close()
      await connection.close()
      db.close()
    },
  }
}
