/** Kysely on PostgreSQL: single reads, and each write a transaction that is repeated after a conflict. */
import type { CompiledQuery, Driver, Dialect as KyselyDialect, QueryResult, RawBuilder } from 'kysely'
import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from 'kysely'
import type { PoolClient, QueryResult as Answer } from 'pg'
import type { Database } from '../database.ts'
import type { Dialect } from '../migrations/migration.ts'
import { throwNoStreaming, ReadDriver, WriteDriver } from '../kysely-drivers.ts'
import type { WriteConnection } from '../kysely-drivers.ts'
import type { BalanceTable, Schema } from '../schema/schema.ts'
import { AccountBalance } from '../ledger/account-balance.ts'
import type { Connections } from './connection/connections.ts'
import { replaceNulCharacters } from './connection/connections.ts'
import { isLockUnavailable } from './connection/errors.ts'

/** Serializable: conditions on other rows hold, as on SQLite, where transactions run one after another. */
const serializable = 'begin isolation level serializable'

/** How long a migration step waits for a table lock; turns queue behind it, so it must be short. */
const lockTimeoutMs = 500

const createImmutabilityTriggers: Dialect['kept'] = (table, { change, deletion }) =>
  [['update', change] as const, ['delete', deletion] as const].flatMap(([action, when]) =>
    when === null
      ? []
      : createTrigger(
          `${table}_no_${action}`,
          sql`before ${sql.raw(action)} on ${sql.table(table)}`,
          // The condition is inside the function, because a trigger's own condition cannot read other tables.
          sql`if ${when} then raise exception ${sql.lit(`rows of ${table} are final`)} using errcode = 'restrict_violation'; end if;
          return ${sql.raw(action === 'update' ? 'new' : 'old')};`,
        ),
  )

export const postgresDialect: Dialect = {
  database: 'postgres',
  whole: 'bigint',
  bytes: 'bytea',
  id: 'text collate "C"',
  serial: 'bigint generated always as identity primary key',
  zeroHash: `decode(repeat('00', 16), 'hex')`,
  tableEnd: '',
  clusteredTableEnd: '',
  sharing: {
    // Both last for the transaction, so that a pooler may be in between. The lock number is arbitrary.
    lock: sql`select pg_advisory_xact_lock(5783946115722), set_config('lock_timeout', ${sql.lit(`${lockTimeoutMs}ms`)}, true)`,
    isInUse: isLockUnavailable,
    async countAliveNodes(db) {
      const { rows } = await sql<{
        alive: number
      }>`select count(*) as alive from process where alive_until >= clock_timestamp()`.execute(db)
      return rows[0]?.alive ?? 0
    },
  },
  sealed: (table) => createImmutabilityTriggers(table, { change: sql`true`, deletion: sql`true` }),
  kept: createImmutabilityTriggers,
  after: (name, table, change, when, statement) => {
    const columns =
      typeof change === 'string' ? sql.raw(change) : sql`update of ${sql.join(change.update.map((column) => sql.ref(column)))}`
    return createTrigger(
      name,
      sql`after ${columns} on ${sql.table(table)}`,
      when === null ? sql`${statement}; return null;` : sql`if ${when} then ${statement}; end if; return null;`,
    )
  },
}

/** A trigger and its function in one statement without parameters. */
function createTrigger(name: string, event: RawBuilder<unknown>, body: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    create function ${sql.id(name)}() returns trigger language plpgsql as $$ begin ${body} end $$;
    create trigger ${sql.id(name)} ${event} for each row execute function ${sql.id(name)}()`
}

export function createDatabase(connections: Connections): Database {
  const write = createKysely(connections, serializable)
  return {
    kind: 'postgres',
    read: new Kysely<Schema>({
      dialect: createKyselyDialect(
        () => new ReadDriver(async (query) => toQueryResult(await connections.read(query.sql, query.parameters))),
      ),
    }),
    write,
    readAccountBalance: (account) => readBalance(connections, account),
    transact: (work) => connections.retryOnConflict(() => write.transaction().execute(work)),
  }
}

/** The row is the balance: it is written with every turn. */
async function readBalance(connections: Connections, account: string): Promise<AccountBalance | undefined> {
  const { rows } = await connections.read('select * from balance where account = $1', [account])
  const [row] = rows as readonly Omit<BalanceTable, 'last_turn'>[]
  return row && AccountBalance.fromRow({ ...row, last_turn: Number.MAX_SAFE_INTEGER } as BalanceTable)
}

/** `begin` starts each transaction. Transactions of several statements are not repeated here. */
export function createKysely(connections: Connections, begin: string): Kysely<Schema> {
  return new Kysely<Schema>({
    dialect: createKyselyDialect(() => new WriteDriver(() => new PostgresWriteConnection(connections, begin))),
  })
}

function createKyselyDialect(createDriver: () => Driver): KyselyDialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver,
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
}

class PostgresWriteConnection implements WriteConnection {
  readonly #connections: Connections
  readonly #begin: string
  #client: PoolClient | undefined
  #failure: unknown
  readonly streamQuery = throwNoStreaming

  constructor(connections: Connections, begin: string) {
    this.#connections = connections
    this.#begin = begin
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#client === undefined) return toQueryResult(await this.#connections.write(this.#begin, sql, parameters))
    return toQueryResult(await this.#query(this.#client, sql, replaceNulCharacters(parameters)))
  }

  async begin(): Promise<void> {
    this.#client = await this.#connections.acquire()
    await this.#recordFailure(this.#connections.begin(this.#client, this.#begin))
  }

  async end(how: 'commit' | 'rollback'): Promise<void> {
    if (this.#client === undefined) return
    const { command } = await this.#query(this.#client, how)
    if (how === 'commit' && command !== 'COMMIT') throw new Error('the transaction was rolled back')
  }

  /** Call after a transaction, however it ended. */
  release(): void {
    if (this.#client !== undefined) this.#connections.release(this.#client, this.#failure)
    this.#client = undefined
  }

  #query(client: PoolClient, text: string, values?: unknown[]): Promise<Answer> {
    return this.#recordFailure(client.query(text, values))
  }

  async #recordFailure<Result>(pending: Promise<Result>): Promise<Result> {
    try {
      return await pending
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
