/** Transfer of an installation on PostgreSQL, as source or target. No node is alive meanwhile, and none can start. */
import type { PoolClient } from 'pg'
import type { Verification } from '../../domain/billing/ledger.ts'
import { OperatorError } from '../../system/operator-error.ts'
import { isUpToDate, transferInProgress } from '../migrations/migrate.ts'
import type { ImageRef, Endpoint, TableChecksums, TransferTarget } from '../transfer/transfer.ts'
import { transferTables, quoteColumns } from '../transfer/tables.ts'
import type { TransferTable, Row, SharedColumns, ColumnValue } from '../transfer/tables.ts'
import { toArrayLiteral, toColumnLiteral } from './ledger/array-literal.ts'
import { readCommitted, Connections } from './connection/connections.ts'
import { openInstallation } from './cluster/installation.ts'
import { LedgerQueueConnection } from './ledger/ledger-queue-connection.ts'
import { prepareDatabase, describeError } from './open.ts'
import type { PostgresOptions } from './open.ts'
import { runMaintenanceTask } from './maintenance/maintenance-tasks.ts'

export interface PostgresTransferOptions {
  readonly url: string
  /** The installation's secret, if it is not stored in the database. */
  readonly secret: Buffer | null
  readonly clock: PostgresOptions['clock']
  /** How long to look for a server that accepts writes. */
  readonly timeoutMs?: number
}

/** A transfer may take long; the server must not end waiting statements. */
const statementTimeoutMs = 24 * 3_600_000
const defaultTimeoutMs = 5_000
/** How long to wait for a node that is just stopping. */
const lockTimeoutMs = 10_000

interface Column {
  readonly name: string
  readonly type: string
}

class PostgresEndpoint implements Endpoint {
  protected readonly connections: Connections
  /** Keeps nodes out by a lock in a transaction that lasts as long as the endpoint; also runs the reads. */
  protected readonly guard: PoolClient
  protected readonly options: PostgresTransferOptions
  readonly #columns: ReadonlyMap<string, readonly Column[]>

  constructor(
    options: PostgresTransferOptions,
    connections: Connections,
    guard: PoolClient,
    columns: ReadonlyMap<string, readonly Column[]>,
  ) {
    this.options = options
    this.connections = connections
    this.guard = guard
    this.#columns = columns
  }

  async listColumns(table: TransferTable): Promise<readonly string[]> {
    return (this.#columns.get(table.name) ?? []).map(({ name }) => name)
  }

  async countRows({ name }: TransferTable): Promise<number> {
    const { rows } = await this.connections.read(`select count(*) as rows from ${name}`, [])
    return rows[0].rows
  }

  async readPage({ table, columns }: SharedColumns, after: Row | null, limit: number): Promise<readonly Row[]> {
    const key = table.key.map((name) => this.#toOrderExpression(table, name)).join(', ')
    const parameters = table.key.map((name, index) => `$${index + 1}::${this.getColumnType(table, name)}`).join(', ')
    const condition = after === null ? '' : `where (${key}) > (${parameters})`
    const { rows } = await this.guard.query<ColumnValue[]>({
      text: `select ${quoteColumns(columns)} from ${table.name} ${condition} order by ${key} limit ${limit}`,
      values: [...(after ?? [])],
      rowMode: 'array',
    })
    return rows
  }

  async readLastKey(table: TransferTable): Promise<Row | null> {
    const order = table.key.map((name) => `${this.#toOrderExpression(table, name)} desc`).join(', ')
    const text = `select ${quoteColumns(table.key)} from ${table.name} order by ${order} limit 1`
    const { rows } = await this.guard.query<ColumnValue[]>({ text, rowMode: 'array' })
    return rows[0] ?? null
  }

  verify(): Promise<Verification> {
    return runMaintenanceTask('verify', { url: this.options.url })
  }

  async readSecret(): Promise<Uint8Array | null> {
    const refuseNew = (): never => {
      throw new OperatorError('The database has no installation: no server has ever started on it.')
    }
    return (await openInstallation(this.connections, this.options.secret, refuseNew)).secret
  }

  async readImage({ hash }: ImageRef): Promise<Uint8Array | null> {
    const { rows } = await this.guard.query<{ data: Uint8Array }>('select data from image_data where hash = $1', [hash])
    return rows[0]?.data ?? null
  }

  async close(): Promise<void> {
    await this.guard.query('rollback').catch(() => undefined)
    this.connections.release(this.guard)
    await this.connections.close()
  }

  protected getColumnType({ name: table }: TransferTable, column: string): string {
    return this.#columns.get(table)?.find(({ name }) => name === column)?.type ?? 'text'
  }

  /** Byte order, like SQLite, whatever the database's collation. */
  #toOrderExpression(table: TransferTable, column: string): string {
    return this.getColumnType(table, column) === 'text' ? `"${column}" collate "C"` : `"${column}"`
  }
}

/** Releases the holds of dead nodes first, as a living node would. @throws OperatorError if a node is alive */
export async function openPostgresSource(options: PostgresTransferOptions): Promise<Endpoint> {
  return withExclusiveAccess(options, async (connections, guard, columns) => {
    if (await isTransferInProgress(guard))
      throw new OperatorError('The database is the target of an unfinished transfer. Finish that one first.')
    await releaseHolds(options, guard)
    return new PostgresEndpoint(options, connections, guard, columns)
  })
}

/** @throws OperatorError if there is an installation already, or a node is alive */
export async function openPostgresTarget(options: PostgresTransferOptions): Promise<TransferTarget> {
  return withExclusiveAccess(options, async (connections, guard, columns) => {
    const isEmpty = async (): Promise<boolean> => {
      const conditions = transferTables.map(({ name }) =>
        name === 'ledger_account_head'
          ? 'exists (select 1 from ledger_account_head where number > 0)'
          : `exists (select 1 from ${name})`,
      )
      const { rows } = await guard.query<{ has_rows: boolean }>(`select ${conditions.join(' or ')} as has_rows`)
      return rows[0]?.has_rows === false
    }
    if (!(await isTransferInProgress(guard)) && !(await isEmpty()))
      throw new OperatorError('The database is not empty: it has an installation. Name an empty one.')
    return new PostgresTarget(options, connections, guard, columns)
  })
}

class PostgresTarget extends PostgresEndpoint implements TransferTarget {
  async readSourceChecksums(): Promise<TableChecksums | null> {
    if (!(await isTransferInProgress(this.guard))) return null
    const { rows } = await this.connections.read('select name, rows, hash from moving', [])
    return Object.fromEntries(rows.map(({ name, ...sum }) => [name, sum]))
  }

  async start(sums: TableChecksums): Promise<void> {
    const names = Object.keys(sums)
    const values = Object.values(sums)
    await this.#transact(async (client) => {
      await client.query('create table moving (name text primary key, rows bigint not null, hash text not null)')
      await client.query('insert into moving (name, rows, hash) select * from unnest($1::text[], $2::bigint[], $3::text[])', [
        toArrayLiteral(names),
        toArrayLiteral(values.map(({ rows }) => rows)),
        toArrayLiteral(values.map(({ hash }) => hash)),
      ])
      await client.query('insert into migration (name, applied_at) values ($1, $2)', [
        transferInProgress,
        this.options.clock.now(),
      ])
      await client.query('delete from ledger_account_head')
    })
  }

  /** Generated ids are kept. */
  async insertRows({ table, columns }: SharedColumns, rows: readonly Row[]): Promise<void> {
    const parameters = columns.map((name, index) => `$${index + 1}::${this.getColumnType(table, name)}[]`)
    const arrays = columns.map((_, index) => toColumnLiteral(rows, index))
    await this.connections.write(
      readCommitted,
      `insert into ${table.name} (${quoteColumns(columns)}) overriding system value select * from unnest(${parameters.join(', ')})`,
      arrays,
    )
  }

  async writeSecret(secret: Uint8Array): Promise<void> {
    const installation = await openInstallation(this.connections, this.options.secret, () => Buffer.from(secret))
    if (!installation.secret.equals(secret))
      throw new OperatorError('The database has another secret, or SECRET_KEY differs from that of the installation to transfer.')
  }

  async listMissingImages(after: string, limit: number): Promise<readonly ImageRef[]> {
    const { rows } = await this.connections.read(
      `select hash, kind from image where hash > $1 and not exists (select 1 from image_data where image_data.hash = image.hash)
      order by hash limit $2`,
      [after, limit],
    )
    return rows
  }

  async writeImage({ hash }: ImageRef, bytes: Uint8Array): Promise<void> {
    await this.connections.write(readCommitted, 'insert into image_data (hash, data) values ($1, $2) on conflict do nothing', [
      hash,
      bytes,
    ])
  }

  /** Sets the sequences after the existing ids, and the number of packs of each balance. */
  async finalizeRows(): Promise<void> {
    await this.#transact(async (client) => {
      await client.query(`update balance set pack_count = counted.packs from (select account, count(*) as packs from pack group by account) as counted
        where counted.account = balance.account`)
      for (const sequence of [
        `'turn_block', (select max(id) + 1 from turn), false`,
        `pg_get_serial_sequence('account_change', 'seq'), (select max(seq) from account_change)`,
        `pg_get_serial_sequence('attempt', 'id'), (select max(id) from attempt)`,
        `pg_get_serial_sequence('notification_event', 'id'), (select max(id) from notification_event)`,
        `pg_get_serial_sequence('notification_delivery', 'id'), (select max(id) from notification_delivery)`,
        // Ended turns keep the ids of their owners.
        `pg_get_serial_sequence('process', 'id'), (select nullif(greatest(max(owner_process), (select max(id) from process)), 0) from turn)`,
      ])
        await client.query(`select setval(${sequence})`)
    })
    await this.connections.read(`analyze ${transferTables.map(({ name }) => name).join(', ')}`, [])
  }

  async finish(): Promise<void> {
    await this.#transact(async (client) => {
      await client.query('drop table moving')
      await client.query('delete from migration where name = $1', [transferInProgress])
    })
  }

  async #transact(work: (client: PoolClient) => Promise<void>): Promise<void> {
    const client = await this.connections.acquire()
    let failure: unknown
    try {
      await client.query(readCommitted)
      await work(client)
      await client.query('commit')
    } catch (error) {
      failure = error
      throw error
    } finally {
      this.connections.release(client, failure)
    }
  }
}

/** Opens the database with this version's schema while no node is alive. */
async function withExclusiveAccess<Result>(
  options: PostgresTransferOptions,
  open: (connections: Connections, guard: PoolClient, columns: ReadonlyMap<string, readonly Column[]>) => Promise<Result>,
): Promise<Result> {
  const { url, timeoutMs = defaultTimeoutMs } = options
  const connections = new Connections({ url, max: 3, timeoutMs, statementTimeoutMs })
  try {
    await prepareSchema(options, connections)
    const guard = await connections.acquire()
    try {
      await lockOutNodes(guard)
      return await open(connections, guard, await readColumns(guard))
    } catch (error) {
      connections.release(guard, error)
      throw error
    }
  } catch (error) {
    await connections.close()
    throw error instanceof OperatorError
      ? error
      : new OperatorError(`The database cannot be used: ${describeError(error)}.`, { cause: error })
  }
}

async function prepareSchema(
  { url, clock, timeoutMs = defaultTimeoutMs }: PostgresTransferOptions,
  connections: Connections,
): Promise<void> {
  const { rows } = await connections.read(`select to_regclass('moving') is not null as in_progress`, [])
  if (!rows[0].in_progress) return prepareDatabase({ url, clock, startTimeoutMs: timeoutMs })
  const appliedMigrations = (await connections.read('select name from migration', [])).rows.map(({ name }): string => name)
  if (!isUpToDate(appliedMigrations.filter((name) => name !== transferInProgress)))
    throw new OperatorError(
      'Another version of svc-gateway began a transfer to this database. Continue with that version, or empty the database.',
    )
}

/** Nodes register before anything else. @throws OperatorError if a node is alive */
async function lockOutNodes(guard: PoolClient): Promise<void> {
  await guard.query(readCommitted)
  await guard.query(`set local lock_timeout = '${lockTimeoutMs}ms'`)
  await guard.query('lock table process in share row exclusive mode').catch((error: unknown) => {
    if ((error as { code?: string }).code !== '55P03') throw error
    throw new OperatorError('The database is in use: a node is starting, or another transfer is running.')
  })
  const { rows } = await guard.query<{ alive: number }>(
    'select count(*) as alive from process where alive_until >= clock_timestamp()',
  )
  const alive = rows[0]?.alive ?? 0
  if (alive > 0)
    throw new OperatorError(
      `${alive} ${alive === 1 ? 'server uses' : 'servers use'} this database. Stop them first; a killed server counts for another 17 seconds.`,
    )
}

async function isTransferInProgress(guard: PoolClient): Promise<boolean> {
  const { rows } = await guard.query<{ in_progress: boolean }>(`select to_regclass('moving') is not null as in_progress`)
  return rows[0]?.in_progress === true
}

async function readColumns(guard: PoolClient): Promise<ReadonlyMap<string, readonly Column[]>> {
  const { rows } = await guard.query<Column & { table: string }>(
    `select relation.relname as "table", attname as name, format_type(atttypid, null) as type from pg_attribute
    join pg_class as relation on relation.oid = attrelid
    where relation.oid = to_regclass(quote_ident(relation.relname)) and relation.relname = any($1::text[]) and attnum > 0 and not attisdropped
    order by attnum`,
    [transferTables.map(({ name }) => name)],
  )
  return Map.groupBy(rows, ({ table }) => table)
}

async function releaseHolds({ url, clock }: PostgresTransferOptions, guard: PoolClient): Promise<void> {
  const { rows } = await guard.query<{ owner: number }>(`select distinct owner_process as owner from turn where state = 'held'`)
  if (rows.length === 0) return
  const queue = new LedgerQueueConnection({ url }, () => 0)
  try {
    for (const { owner } of rows) await queue.releaseHolds(owner, clock.now())
  } finally {
    await queue.close(lockTimeoutMs)
  }
}
