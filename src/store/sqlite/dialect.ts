/** Kysely on the two connections: reads on this thread's read-only connection, writes through the writer thread. */
import type { CompiledQuery, Driver, Dialect as KyselyDialect, QueryResult } from 'kysely'
import { Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Dialect } from '../migrations/migration.ts'
import { readCurrentBalance } from '../ledger/current-balance.ts'
import { throwNoStreaming, ReadDriver, WriteDriver } from '../kysely-drivers.ts'
import type { WriteConnection } from '../kysely-drivers.ts'
import type { Schema } from '../schema/schema.ts'
import type { Connection } from './connection/connection.ts'
import type { RowsResult } from './connection/writer-protocol.ts'
import type { ReadQuery } from './connection/statement-cache.ts'
import { createReadQuery } from './connection/statement-cache.ts'
import type { Transaction } from './writer/transaction.ts'
import type { Writer } from './writer/writer.ts'

const createImmutabilityTriggers: Dialect['kept'] = (table, { change, deletion }) =>
  [['update', change] as const, ['delete', deletion] as const].flatMap(([action, when]) =>
    when === null
      ? []
      : sql`
        create trigger ${sql.id(`${table}_no_${action}`)} before ${sql.raw(action)} on ${sql.table(table)} when ${when}
        begin select raise(abort, ${sql.lit(`rows of ${table} are final`)}); end`,
  )

export const sqliteDialect: Dialect = {
  database: 'sqlite',
  whole: 'integer',
  bytes: 'blob',
  id: 'text',
  serial: 'integer primary key autoincrement not null',
  zeroHash: 'zeroblob(16)',
  tableEnd: 'strict',
  clusteredTableEnd: 'strict, without rowid',
  sharing: null,
  sealed: (table) => createImmutabilityTriggers(table, { change: sql`true`, deletion: sql`true` }),
  kept: createImmutabilityTriggers,
  after: (name, table, change, when, statement) => {
    const columns =
      typeof change === 'string' ? sql.raw(change) : sql`update of ${sql.join(change.update.map((column) => sql.ref(column)))}`
    return sql`
      create trigger ${sql.id(name)} after ${columns} on ${sql.table(table)}
      for each row ${when === null ? sql`` : sql`when ${when}`}
      begin ${statement}; end`
  },
}

export function createDatabase(readQuery: ReadQuery, writer: Writer): Database {
  const write = createWriteKysely(writer)
  const read = new Kysely<Schema>({ dialect: createKyselyDialect(() => createReadDriver(readQuery)) })
  return {
    kind: 'sqlite',
    read,
    write,
    readAccountBalance: (account) => readCurrentBalance(read, account),
    transact: (work) => write.transaction().execute(work),
  }
}

export function createWriteKysely(writer: Writer): Kysely<Schema> {
  return new Kysely<Schema>({
    dialect: createKyselyDialect(() => new WriteDriver(() => new SqliteWriteConnection(writer))),
  })
}

/** Sees committed data; refuses writes. */
export function createReadOnlyKysely(reader: Connection): Kysely<Schema> {
  return new Kysely<Schema>({ dialect: createKyselyDialect(() => createReadDriver(createReadQuery(reader))) })
}

function createKyselyDialect(createDriver: () => Driver): KyselyDialect {
  return {
    createAdapter: () => new ConcurrentSqliteAdapter(),
    createDriver,
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

/** SQLite's adapter without its mutex: the writer orders writes itself and lets single statements share a commit. */
class ConcurrentSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

function createReadDriver(readQuery: ReadQuery): Driver {
  return new ReadDriver(async (query) => toQueryResult(readQuery(query.sql, query.parameters)))
}

class SqliteWriteConnection implements WriteConnection {
  readonly #writer: Writer
  transaction: Transaction | undefined
  readonly streamQuery = throwNoStreaming

  constructor(writer: Writer) {
    this.#writer = writer
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const op = ['sql', query.sql, query.parameters] as const
    if (this.transaction !== undefined) return toQueryResult(await this.transaction.query(op))
    const result = await this.#writer.submit(op, true)
    if (result[0] !== 'rows') throw new Error('the writer returned no result')
    return toQueryResult(result)
  }

  async begin(): Promise<void> {
    this.transaction = await this.#writer.begin()
  }

  /** Ends the transaction whether or not the commit succeeds. */
  async end(outcome: 'commit' | 'rollback'): Promise<void> {
    const { transaction } = this
    this.transaction = undefined
    await transaction?.[outcome]()
  }

  release(): void {}
}

function toQueryResult<R>([, rows, changes, lastId]: RowsResult): QueryResult<R> {
  return { rows: rows as R[], numAffectedRows: BigInt(changes), insertId: BigInt(lastId) }
}
