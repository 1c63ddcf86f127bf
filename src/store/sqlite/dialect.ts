/** kysely on our two connections: reads on the main thread's read-only one, writes through the writer's thread. */
import type { CompiledQuery, Driver, Dialect as KyselyDialect, QueryResult } from 'kysely'
import { Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Dialect } from '../migrations/migration.ts'
import { purseNow } from '../purse-now.ts'
import { noStreaming, ReadDriver, WriteDriver } from '../drivers.ts'
import type { WriteConnection } from '../drivers.ts'
import type { Schema } from '../schema.ts'
import type { Connection } from './connection.ts'
import type { RowsResult } from './protocol.ts'
import type { Reading } from './reading.ts'
import { readingOf } from './reading.ts'
import type { Transaction } from './transaction.ts'
import type { Writer } from './writer.ts'

const kept: Dialect['kept'] = (table, { change, deletion }) =>
  [['update', change] as const, ['delete', deletion] as const].flatMap(([action, when]) =>
    when === null
      ? []
      : sql`
        create trigger ${sql.id(`${table}_no_${action}`)} before ${sql.raw(action)} on ${sql.table(table)} when ${when}
        begin select raise(abort, ${sql.lit(`rows of ${table} are final`)}); end`,
  )

export const sqliteDialect: Dialect = {
  whole: 'integer',
  bytes: 'blob',
  serial: sql`integer primary key autoincrement not null`,
  noBytes: sql`x''`,
  logSerial: sql`integer primary key not null`,
  tableEnd: sql`strict`,
  clusteredTableEnd: sql`strict, without rowid`,
  sharing: null,
  sealed: (table) => kept(table, { change: sql`true`, deletion: sql`true` }),
  kept,
  after: (name, table, change, when, statement) => {
    const columns = change === 'delete' ? sql`delete` : sql`update of ${sql.join(change.update.map((column) => sql.ref(column)))}`
    return sql`
      create trigger ${sql.id(name)} after ${columns} on ${sql.table(table)}
      for each row ${when === null ? sql`` : sql`when ${when}`}
      begin ${statement}; end`
  },
}

export function databaseOn(reading: Reading, writer: Writer): Database {
  const write = new Kysely<Schema>({ dialect: dialectWith(() => new WriteDriver(() => new Writing(writer))) })
  const read = new Kysely<Schema>({ dialect: dialectWith(() => readDriver(reading)) })
  return {
    read,
    write,
    purseOf: (account) => purseNow(read, account),
    transact: (work) => write.transaction().execute(work),
  }
}

/** Sees what was committed; refuses to write. */
export function readingFrom(reader: Connection): Kysely<Schema> {
  return new Kysely<Schema>({ dialect: dialectWith(() => readDriver(readingOf(reader))) })
}

function dialectWith(createDriver: () => Driver): KyselyDialect {
  return {
    createAdapter: () => new Adapter(),
    createDriver,
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

/** SQLite's, but for the queue: the writer keeps order itself, and lets single statements share a commit. */
class Adapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

function readDriver(reading: Reading): Driver {
  return new ReadDriver(async (query) => toQueryResult(reading(query.sql, query.parameters)))
}

class Writing implements WriteConnection {
  readonly #writer: Writer
  transaction: Transaction | undefined
  readonly streamQuery = noStreaming

  constructor(writer: Writer) {
    this.#writer = writer
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const op = ['sql', query.sql, query.parameters] as const
    if (this.transaction !== undefined) return toQueryResult(await this.transaction.query(op))
    const result = await this.#writer.submit(op, true)
    if (result[0] !== 'rows') throw new Error('the writer gave no answer')
    return toQueryResult(result)
  }

  async begin(): Promise<void> {
    this.transaction = await this.#writer.begin()
  }

  /** Ends the transaction whatever comes of it. */
  async end(how: 'commit' | 'rollback'): Promise<void> {
    const { transaction } = this
    this.transaction = undefined
    await transaction?.[how]()
  }

  release(): void {}
}

function toQueryResult<R>([, rows, changes, lastId]: RowsResult): QueryResult<R> {
  return { rows: rows as R[], numAffectedRows: BigInt(changes), insertId: BigInt(lastId) }
}
