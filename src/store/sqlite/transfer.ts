/**
 * Transfer of a SQLite installation, as source or target: one database file that no other process writes to meanwhile, and the
 * files beside it.
 */
import { existsSync, linkSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Statement } from 'better-sqlite3'
import type { Verification } from '../../domain/billing/ledger.ts'
import { OperatorError, describeSystemError } from '../../system/operator-error.ts'
import { isUpToDate } from '../migrations/migrate.ts'
import type { ImageRef, Endpoint, TableChecksums, TransferTarget } from '../transfer/transfer.ts'
import { quoteColumns } from '../transfer/tables.ts'
import type { TransferTable, Row, SharedColumns, ColumnValue } from '../transfer/tables.ts'
import type { ReplayTurn } from '../ledger/account-balance.ts'
import { bucketValueColumns, AccountBalance } from '../ledger/account-balance.ts'
import type { BalanceTable } from '../schema/schema.ts'
import { syncPath } from './maintenance/backup.ts'
import type { Connection } from './connection/connection.ts'
import { defaultBusyTimeoutMs, openForWriting } from './connection/connection.ts'
import { openSqliteStore } from './open.ts'
import { ServerLock } from './process/server-lock.ts'
import { BalanceRows } from './ledger/balance-rows.ts'
import { runReadTask } from './maintenance/read-tasks.ts'

/** What an installation keeps in files beside its database. */
export interface CompanionFiles {
  readSecret(): Uint8Array | null
  /** @throws OperatorError if there is a different one already */
  writeSecret(secret: Uint8Array): void
  hasImage(image: ImageRef): boolean
  readImage(image: ImageRef): Uint8Array | null
  writeImage(image: ImageRef, bytes: Uint8Array): void
}

export interface SqliteTransferOptions {
  readonly file: string
  readonly files: CompanionFiles
  /** `id` must be new for every start. */
  readonly process: { readonly id: string; readonly pid: number }
  readonly clock: { now(): number }
}

class SqliteEndpoint implements Endpoint {
  protected readonly db: Connection
  protected readonly files: CompanionFiles
  readonly #serverLock: ServerLock
  /** Turns that the balance rows do not include yet, by account. */
  readonly #missingTurns: ReadonlyMap<string, readonly ReplayTurn[]>

  constructor(
    db: Connection,
    files: CompanionFiles,
    serverLock: ServerLock,
    missingTurns: ReadonlyMap<string, readonly ReplayTurn[]>,
  ) {
    this.db = db
    this.files = files
    this.#serverLock = serverLock
    this.#missingTurns = missingTurns
  }

  async listColumns(table: TransferTable): Promise<readonly string[]> {
    return this.db.prepare<[string], string>('select name from pragma_table_info(?)').pluck().all(table.name)
  }

  async countRows(table: TransferTable): Promise<number> {
    return this.db.prepare<[], number>(`select count(*) from ${table.name}`).pluck().get() ?? 0
  }

  async readPage({ table, columns }: SharedColumns, after: Row | null, limit: number): Promise<readonly Row[]> {
    const key = quoteColumns(table.key)
    const condition = after === null ? '' : `where (${key}) > (${table.key.map(() => '?').join(', ')})`
    const text = `from ${table.name} ${condition} order by ${key} limit ${limit}`
    if (table.name === 'balance')
      return this.#readBalances(this.db.prepare<ColumnValue[], BalanceTable>(`select * ${text}`), columns, after ?? [])
    return this.db
      .prepare<ColumnValue[], ColumnValue[]>(`select ${quoteColumns(columns)} ${text}`)
      .raw()
      .all(...(after ?? []))
  }

  verify(): Promise<Verification> {
    return runReadTask('verify', { file: this.db.name })
  }

  async readSecret(): Promise<Uint8Array | null> {
    return this.files.readSecret()
  }

  async readImage(image: ImageRef): Promise<Uint8Array | null> {
    return this.files.readImage(image)
  }

  async close(): Promise<void> {
    if (this.db.inTransaction) this.db.exec('rollback')
    this.db.close()
    this.#serverLock.release()
  }

  /** Balances as they are now: their rows plus the turns since the watermark. */
  #readBalances(statement: Statement<ColumnValue[], BalanceTable>, columns: readonly string[], after: Row): readonly Row[] {
    return statement.all(...after).map((row) => {
      const balance = AccountBalance.fromRow(row)
      balance.replay(this.#missingTurns.get(row.account) ?? [])
      const { account, seq, hash, bucketValues } = balance
      const columnValues = new Map<string, ColumnValue>([
        ['account', account],
        ['seq', seq],
        ['hash', hash],
      ])
      for (const [index, column] of bucketValueColumns.entries()) columnValues.set(column, bucketValues[index] ?? null)
      return columns.map((name) => columnValues.get(name) ?? null)
    })
  }
}

/**
 * Settles or releases the holds of dead processes, as a start does, and keeps the file unchanged from then on.
 * @throws OperatorError if a server uses it
 */
export async function openSqliteSource({ file, files, process, clock }: SqliteTransferOptions): Promise<Endpoint> {
  const store = await openSqliteStore({ file, process, clock, role: 'server', allowCreate: false })
  await store.close()
  const serverLock = ServerLock.acquire(file, process.pid, clock.now())
  let db: Connection | undefined
  try {
    db = openForWriting(file, defaultBusyTimeoutMs, false)
    // Blocks all other writers, so that everything read is of one moment.
    db.exec('begin immediate')
    const heldCount = db.prepare<[], number>(`select count(*) from turn where state = 'held'`).pluck().get()
    if (heldCount !== 0) throw new OperatorError(`${heldCount} turns are still held by a process that lives. Stop it first.`)
    // So nothing is pending: a journal that still exists is about turns that have ended, or about another state of the database.
    return new SqliteEndpoint(db, files, serverLock, new BalanceRows(db).readTurnsSinceWatermark())
  } catch (error) {
    db?.close()
    serverLock.release()
    throw error instanceof OperatorError
      ? error
      : new OperatorError(`${file} cannot be used: ${describeSystemError(error)}.`, { cause: error })
  }
}

class SqliteTransferTarget extends SqliteEndpoint implements TransferTarget {
  readonly #file: string
  /** Newest transferred turn of each account. */
  readonly #newest: Map<string, number>

  constructor(db: Connection, files: CompanionFiles, serverLock: ServerLock, file: string) {
    // Balances arrive complete.
    super(db, files, serverLock, new Map())
    this.#file = file
    const newestTurnIds = db.prepare<[], [string, number]>('select account, max(id) from turn group by account').raw()
    this.#newest = new Map(newestTurnIds.all())
  }

  async readSourceChecksums(): Promise<TableChecksums | null> {
    if (!hasTransferTable(this.db)) return null
    const rows = this.db.prepare<[], { name: string; rows: number; hash: string }>('select name, rows, hash from moving').all()
    return Object.fromEntries(rows.map(({ name, ...sum }) => [name, sum]))
  }

  async start(sums: TableChecksums): Promise<void> {
    this.db.transaction(() => {
      this.db.exec('create table moving (name text primary key, rows integer not null, hash text not null) strict')
      const insert = this.db.prepare('insert into moving (name, rows, hash) values (?, ?, ?)')
      for (const [name, { rows, hash }] of Object.entries(sums)) insert.run(name, rows, hash)
      this.db.exec('delete from ledger_account_head')
    })()
  }

  async readLastKey(table: TransferTable): Promise<Row | null> {
    const order = table.key.map((name) => `"${name}" desc`).join(', ')
    const text = `select ${quoteColumns(table.key)} from ${table.name} order by ${order} limit 1`
    return this.db.prepare<[], ColumnValue[]>(text).raw().get() ?? null
  }

  async insertRows({ table, columns }: SharedColumns, rows: readonly Row[]): Promise<void> {
    const derivedColumns = this.#deriveColumns(table, columns)
    const names = [...columns, ...derivedColumns.names]
    const insert = this.db.prepare(
      `insert into ${table.name} (${quoteColumns(names)}) values (${names.map(() => '?').join(', ')})`,
    )
    this.db.transaction(() => {
      for (const row of rows) insert.run(...row, ...derivedColumns.deriveValues(row))
    })()
  }

  async writeSecret(secret: Uint8Array): Promise<void> {
    this.files.writeSecret(secret)
  }

  async listMissingImages(after: string, limit: number): Promise<readonly ImageRef[]> {
    const records = this.db
      .prepare<[string], ImageRef>('select hash, kind from image where hash > ? order by hash')
      .iterate(after)
    const missingImages: ImageRef[] = []
    for (const record of records) {
      if (!this.files.hasImage(record)) missingImages.push(record)
      if (missingImages.length === limit) break
    }
    return missingImages
  }

  async writeImage(image: ImageRef, bytes: Uint8Array): Promise<void> {
    this.files.writeImage(image, bytes)
  }

  /** No balance is behind its turns, and no process is alive or will ever get the id of an earlier one. */
  async finalizeRows(): Promise<void> {
    this.db.transaction(() => {
      this.db.exec(`
        update balance_watermark set (turn, newest_turn) = (select coalesce(max(id), 0), coalesce(max(id), 0) from turn);
        delete from balance_watermark_hold;
        delete from process;
        update sqlite_sequence set seq = max(seq, (select coalesce(max(owner_process), 0) from turn)) where name = 'process'`)
    })()
  }

  async finish(): Promise<void> {
    const partialFile = this.db.name
    this.db.exec('drop table moving')
    this.db.pragma('wal_checkpoint(truncate)')
    this.db.close()
    syncPath(partialFile)
    // Unlike a rename, a link never replaces an existing file.
    linkSync(partialFile, this.#file)
    removeDatabase(partialFile)
    syncPath(dirname(this.#file))
  }

  /** Columns that only this database has and that follow from the others: each turn's link to the account's previous turn. */
  #deriveColumns(
    { name }: TransferTable,
    columns: readonly string[],
  ): { readonly names: readonly string[]; readonly deriveValues: (row: Row) => readonly number[] } {
    const accountAt = columns.indexOf('account')
    const idAt = columns.indexOf('id')
    const getNewestTurn = (row: Row): number => this.#newest.get(String(row[accountAt])) ?? 0
    switch (name) {
      case 'turn':
        return {
          names: ['previous_turn'],
          deriveValues: (row) => {
            const previous = getNewestTurn(row)
            this.#newest.set(String(row[accountAt]), Number(row[idAt]))
            return [previous]
          },
        }
      case 'balance':
        return { names: ['last_turn'], deriveValues: (row) => [getNewestTurn(row)] }
      default:
        return { names: [], deriveValues: () => [] }
    }
  }
}

/**
 * Fills the database under another name, so that no server finds a partial one. @throws OperatorError if there is an installation
 * already
 */
export async function openSqliteTarget({ file, files, process, clock }: SqliteTransferOptions): Promise<TransferTarget> {
  const serverLock = ServerLock.acquire(file, process.pid, clock.now())
  let db: Connection | undefined
  try {
    // Also a WAL without its database: SQLite would take it for the new one's.
    for (const targetFile of [file, `${file}-wal`])
      if ((statSync(targetFile, { throwIfNoEntry: false })?.size ?? 0) > 0)
        throw new OperatorError(`${targetFile} is there already. Name an empty folder.`)
    const partialFile = `${file}.moving`
    if (existsSync(partialFile) && !hasTransferredRows(partialFile)) removeDatabase(partialFile)
    if (!existsSync(partialFile)) await (await openSqliteStore({ file: partialFile, process, clock })).close()
    db = openForWriting(partialFile, defaultBusyTimeoutMs, false)
    if (!isUpToDate(db.prepare<[], string>('select name from migration').pluck().all()))
      throw new OperatorError(
        `${partialFile} was begun by another version of svc-gateway. Go on with that one, or remove it and begin again.`,
      )
    return new SqliteTransferTarget(db, files, serverLock, file)
  } catch (error) {
    db?.close()
    serverLock.release()
    throw error instanceof OperatorError
      ? error
      : new OperatorError(`${file} cannot be filled: ${describeSystemError(error)}.`, { cause: error })
  }
}

/** Whether rows may have been transferred; before that the partial file has no value. */
function hasTransferredRows(part: string): boolean {
  const db = openForWriting(part, defaultBusyTimeoutMs, true)
  try {
    return hasTransferTable(db)
  } finally {
    db.close()
  }
}

function hasTransferTable(db: Connection): boolean {
  return db.prepare(`select 1 from sqlite_schema where name = 'moving'`).get() !== undefined
}

function removeDatabase(part: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(part + suffix, { force: true })
}
