/** kysely on PostgreSQL: reads alone, each write a transaction that is done again where others came in its way. */
import type { CompiledQuery, Driver, Dialect as KyselyDialect, QueryResult, RawBuilder } from 'kysely'
import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from 'kysely'
import type { PoolClient, QueryResult as Answer } from 'pg'
import type { Database } from '../database.ts'
import type { Dialect } from '../migrations/migration.ts'
import { noStreaming, ReadDriver, WriteDriver } from '../drivers.ts'
import type { WriteConnection } from '../drivers.ts'
import type { Schema } from '../schema.ts'
import { Purse } from '../purse.ts'
import type { Connections } from './connections.ts'
import { textsOf } from './connections.ts'
import { isInUse } from './failures.ts'
import type { SharedPurseTable } from './schema-cluster.ts'

/** As if they came one after another: conditions on other rows hold, like on SQLite, where they do come one after another. */
const serializable = 'begin isolation level serializable'

/** So long a step waits for a table, and turns wait behind it: less than they notice. */
const tableMs = 500

const kept: Dialect['kept'] = (table, { change, deletion }) =>
  [['update', change] as const, ['delete', deletion] as const].flatMap(([action, when]) =>
    when === null
      ? []
      : trigger(
          `${table}_no_${action}`,
          sql`before ${sql.raw(action)} on ${sql.table(table)}`,
          // Asked inside, because a trigger's own condition may not look at other tables.
          sql`if ${when} then raise exception ${sql.lit(`rows of ${table} are final`)} using errcode = 'restrict_violation'; end if;
          return ${sql.raw(action === 'update' ? 'new' : 'old')};`,
        ),
  )

export const postgresDialect: Dialect = {
  whole: 'bigint',
  bytes: 'bytea',
  serial: sql`bigint generated always as identity primary key`,
  noBytes: sql`''`,
  logSerial: sql`bigint generated always as identity primary key`,
  tableEnd: sql``,
  clusteredTableEnd: sql``,
  sharing: {
    // Both of the transaction, so that a pooler may stand in between. The number is this service's own.
    lock: sql`select pg_advisory_xact_lock(5783946115722), set_config('lock_timeout', ${sql.lit(`${tableMs}ms`)}, true)`,
    isInUse,
    async alive(db) {
      const { rows } = await sql<{
        alive: number
      }>`select count(*) as alive from process where alive_until >= clock_timestamp()`.execute(db)
      return rows[0]?.alive ?? 0
    },
  },
  sealed: (table) => kept(table, { change: sql`true`, deletion: sql`true` }),
  kept,
  after: (name, table, change, when, statement) => {
    const columns = change === 'delete' ? sql`delete` : sql`update of ${sql.join(change.update.map((column) => sql.ref(column)))}`
    return trigger(
      name,
      sql`after ${columns} on ${sql.table(table)}`,
      when === null ? sql`${statement}; return null;` : sql`if ${when} then ${statement}; end if; return null;`,
    )
  },
}

/** A trigger and its function, in one statement: one text, without parameters. */
function trigger(name: string, event: RawBuilder<unknown>, body: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    create function ${sql.id(name)}() returns trigger language plpgsql as $$ begin ${body} end $$;
    create trigger ${sql.id(name)} ${event} for each row execute function ${sql.id(name)}()`
}

export function databaseOn(connections: Connections): Database {
  const write = kyselyOn(connections, serializable)
  return {
    read: new Kysely<Schema>({
      dialect: dialectWith(
        () => new ReadDriver(async (query) => toQueryResult(await connections.read(query.sql, query.parameters))),
      ),
    }),
    write,
    purseOf: (account) => purseIn(connections, account),
    transact: (work) => connections.repeated(() => write.transaction().execute(work)),
  }
}

/** The row is the purse: no turn is ever later than it. */
async function purseIn(connections: Connections, account: string): Promise<Purse | undefined> {
  const { rows } = await connections.read('select * from purse where account = $1', [account])
  const [row] = rows as readonly SharedPurseTable[]
  return row && Purse.from({ ...row, last_turn: Number.MAX_SAFE_INTEGER })
}

/** Transactions begin with these words; those of several statements are not repeated here. */
export function kyselyOn(connections: Connections, begin: string): Kysely<Schema> {
  return new Kysely<Schema>({ dialect: dialectWith(() => new WriteDriver(() => new Writing(connections, begin))) })
}

function dialectWith(createDriver: () => Driver): KyselyDialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver,
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
}

class Writing implements WriteConnection {
  readonly #connections: Connections
  readonly #begin: string
  #client: PoolClient | undefined
  #failure: unknown
  readonly streamQuery = noStreaming

  constructor(connections: Connections, begin: string) {
    this.#connections = connections
    this.#begin = begin
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#client === undefined) return toQueryResult(await this.#connections.write(this.#begin, sql, parameters))
    return toQueryResult(await this.#ask(this.#client, sql, textsOf(parameters)))
  }

  async begin(): Promise<void> {
    this.#client = await this.#connections.take()
    await this.#noting(this.#connections.begin(this.#client, this.#begin))
  }

  async end(how: 'commit' | 'rollback'): Promise<void> {
    if (this.#client === undefined) return
    const { command } = await this.#ask(this.#client, how)
    if (how === 'commit' && command !== 'COMMIT') throw new Error('the transaction was undone')
  }

  /** After a transaction, however it ended. */
  release(): void {
    if (this.#client !== undefined) this.#connections.giveBack(this.#client, this.#failure)
    this.#client = undefined
  }

  #ask(client: PoolClient, text: string, values?: unknown[]): Promise<Answer> {
    return this.#noting(client.query(text, values))
  }

  async #noting<Given>(asked: Promise<Given>): Promise<Given> {
    try {
      return await asked
    } catch (error) {
      this.#failure = error
      throw error
    }
  }
}

function toQueryResult<R>({ rows, rowCount, command }: Answer): QueryResult<R> {
  const isWrite = command === 'INSERT' || command === 'UPDATE' || command === 'DELETE'
  return isWrite ? { rows: rows as R[], numAffectedRows: BigInt(rowCount ?? 0) } : { rows: rows as R[] }
}
