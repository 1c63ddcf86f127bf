/** A SQLite installation that is moved, or moved to: one file that nobody else writes to meanwhile, and what lies beside it. */
import { existsSync, linkSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Statement } from 'better-sqlite3'
import type { Verification } from '../../membership/ledger.ts'
import { Unusable, whyNot } from '../../system/unusable.ts'
import { isCurrent } from '../migrate.ts'
import type { ImageOf, Side, Sums, Target } from '../moving/move.ts'
import { quoted } from '../moving/tables.ts'
import type { MovedTable, Row, Shape, Value } from '../moving/tables.ts'
import type { MovedTurn } from '../purse.ts'
import { cellColumns, Purse } from '../purse.ts'
import type { PurseTable } from '../schema.ts'
import { sync } from './backup.ts'
import type { Connection } from './connection.ts'
import { defaultBusyTimeoutMs, openForWriting } from './connection.ts'
import { openSqliteStore } from './open.ts'
import { Place } from './place.ts'
import { PurseRows } from './purse-rows.ts'
import { runTask } from './reader.ts'

/** What an installation keeps in files beside its database. */
export interface FilesBeside {
  secret(): Uint8Array | null
  /** @throws Unusable where there is another one */
  putSecret(secret: Uint8Array): void
  hasImage(image: ImageOf): boolean
  image(image: ImageOf): Uint8Array | null
  putImage(image: ImageOf, bytes: Uint8Array): void
}

export interface SqliteMove {
  readonly file: string
  readonly files: FilesBeside
  /** `id` must be new for every start. */
  readonly process: { readonly id: string; readonly pid: number }
  readonly clock: { now(): number }
}

/** Purses have another name here, because they are written behind. */
function nameOf({ name }: MovedTable): string {
  return name === 'purse' ? 'written_purse' : name
}

class SqliteSide implements Side {
  protected readonly db: Connection
  protected readonly files: FilesBeside
  readonly #place: Place
  /** What purses lack, by account. */
  readonly #moved: ReadonlyMap<string, readonly MovedTurn[]>

  constructor(db: Connection, files: FilesBeside, place: Place, moved: ReadonlyMap<string, readonly MovedTurn[]>) {
    this.db = db
    this.files = files
    this.#place = place
    this.#moved = moved
  }

  async columnsOf(table: MovedTable): Promise<readonly string[]> {
    return this.db.prepare<[string], string>('select name from pragma_table_info(?)').pluck().all(nameOf(table))
  }

  async count(table: MovedTable): Promise<number> {
    return (
      this.db
        .prepare<[], number>(`select count(*) from ${nameOf(table)}`)
        .pluck()
        .get() ?? 0
    )
  }

  async page({ table, columns }: Shape, after: Row | null, most: number): Promise<readonly Row[]> {
    const key = quoted(table.key)
    const condition = after === null ? '' : `where (${key}) > (${table.key.map(() => '?').join(', ')})`
    const text = `from ${nameOf(table)} ${condition} order by ${key} limit ${most}`
    if (table.name === 'purse')
      return this.#purses(this.db.prepare<Value[], PurseTable>(`select * ${text}`), columns, after ?? [])
    return this.db
      .prepare<Value[], Value[]>(`select ${quoted(columns)} ${text}`)
      .raw()
      .all(...(after ?? []))
  }

  verify(): Promise<Verification> {
    return runTask('verify', { file: this.db.name })
  }

  async secret(): Promise<Uint8Array | null> {
    return this.files.secret()
  }

  async image(image: ImageOf): Promise<Uint8Array | null> {
    return this.files.image(image)
  }

  async close(): Promise<void> {
    if (this.db.inTransaction) this.db.exec('rollback')
    this.db.close()
    this.#place.release()
  }

  /** As they are now, with what turns have done since they were written. */
  #purses(statement: Statement<Value[], PurseTable>, columns: readonly string[], after: Row): readonly Row[] {
    return statement.all(...after).map((row) => {
      const purse = Purse.from(row)
      purse.takeIn(this.#moved.get(row.account) ?? [])
      const { account, seq, hash, cells } = purse
      const now = new Map<string, Value>([
        ['account', account],
        ['seq', seq],
        ['hash', hash],
      ])
      for (const [index, column] of cellColumns.entries()) now.set(column, cells[index] ?? null)
      return columns.map((name) => now.get(name) ?? null)
    })
  }
}

/**
 * Ends what dead processes held, as a start does, and keeps the file as it is from then on.
 * @throws Unusable where a server works on it
 */
export async function openSqliteSource({ file, files, process, clock }: SqliteMove): Promise<Side> {
  const store = await openSqliteStore({ file, process, clock, role: 'server', mayBeNew: false })
  await store.close()
  const place = Place.take(file, process.pid, clock.now())
  let db: Connection | undefined
  try {
    db = openForWriting(file, defaultBusyTimeoutMs, false)
    // Whoever comes to write has to wait, and what is read is all of one moment.
    db.exec('begin immediate')
    const held = db.prepare<[], number>(`select count(*) from turn where state = 'held'`).pluck().get()
    if (held !== 0) throw new Unusable(`${held} turns are still held by a process that lives. Stop it first.`)
    // So nothing is owed to it: a journal that is still there speaks of turns that have ended, or of another state of the database.
    return new SqliteSide(db, files, place, new PurseRows(db).movedSinceMark())
  } catch (error) {
    db?.close()
    place.release()
    throw error instanceof Unusable ? error : new Unusable(`${file} cannot be used: ${whyNot(error)}.`, { cause: error })
  }
}

class SqliteTarget extends SqliteSide implements Target {
  readonly #file: string
  /** Each account's newest turn that is here. */
  readonly #newest: Map<string, number>

  constructor(db: Connection, files: FilesBeside, place: Place, file: string) {
    // Purses come here as they are.
    super(db, files, place, new Map())
    this.#file = file
    const newest = db.prepare<[], [string, number]>('select account, max(id) from turn group by account').raw()
    this.#newest = new Map(newest.all())
  }

  async begun(): Promise<Sums | null> {
    if (!isBegun(this.db)) return null
    const rows = this.db.prepare<[], { name: string; rows: number; hash: string }>('select name, rows, hash from moving').all()
    return Object.fromEntries(rows.map(({ name, ...sum }) => [name, sum]))
  }

  async begin(sums: Sums): Promise<void> {
    this.db.transaction(() => {
      this.db.exec('create table moving (name text primary key, rows integer not null, hash text not null) strict')
      const insert = this.db.prepare('insert into moving (name, rows, hash) values (?, ?, ?)')
      for (const [name, { rows, hash }] of Object.entries(sums)) insert.run(name, rows, hash)
      this.db.exec('delete from roster_end')
    })()
  }

  async lastKey(table: MovedTable): Promise<Row | null> {
    const order = table.key.map((name) => `"${name}" desc`).join(', ')
    const text = `select ${quoted(table.key)} from ${nameOf(table)} order by ${order} limit 1`
    return this.db.prepare<[], Value[]>(text).raw().get() ?? null
  }

  async put({ table, columns }: Shape, rows: readonly Row[]): Promise<void> {
    const more = this.#following(table, columns)
    const names = [...columns, ...more.names]
    const insert = this.db.prepare(`insert into ${nameOf(table)} (${quoted(names)}) values (${names.map(() => '?').join(', ')})`)
    this.db.transaction(() => {
      for (const row of rows) insert.run(...row, ...more.valuesOf(row))
    })()
  }

  async putSecret(secret: Uint8Array): Promise<void> {
    this.files.putSecret(secret)
  }

  async lackingImages(after: string, most: number): Promise<readonly ImageOf[]> {
    const records = this.db.prepare<[string], ImageOf>('select hash, kind from image where hash > ? order by hash').iterate(after)
    const lacking: ImageOf[] = []
    for (const record of records) {
      if (!this.files.hasImage(record)) lacking.push(record)
      if (lacking.length === most) break
    }
    return lacking
  }

  async putImage(image: ImageOf, bytes: Uint8Array): Promise<void> {
    this.files.putImage(image, bytes)
  }

  /** No purse lacks anything, and no process is alive, nor will ever have the number of one that was. */
  async settle(): Promise<void> {
    this.db.transaction(() => {
      this.db.exec(`
        update purse_mark set (turn, newest) = (select coalesce(max(id), 0), coalesce(max(id), 0) from turn);
        delete from purse_mark_hold;
        delete from process;
        update sqlite_sequence set seq = max(seq, (select coalesce(max(owner), 0) from turn)) where name = 'process'`)
    })()
  }

  async finish(): Promise<void> {
    const part = this.db.name
    this.db.exec('drop table moving')
    this.db.pragma('wal_checkpoint(truncate)')
    this.db.close()
    sync(part)
    // Unlike a rename, a link never replaces a file that is there.
    linkSync(part, this.#file)
    remove(part)
    sync(dirname(this.#file))
  }

  /** What only this database keeps of a row, and how it follows: the way from each turn to the account's turn before. */
  #following(
    { name }: MovedTable,
    columns: readonly string[],
  ): { readonly names: readonly string[]; readonly valuesOf: (row: Row) => readonly number[] } {
    const accountAt = columns.indexOf('account')
    const idAt = columns.indexOf('id')
    const newestOf = (row: Row): number => this.#newest.get(String(row[accountAt])) ?? 0
    switch (name) {
      case 'turn':
        return {
          names: ['previous'],
          valuesOf: (row) => {
            const previous = newestOf(row)
            this.#newest.set(String(row[accountAt]), Number(row[idAt]))
            return [previous]
          },
        }
      case 'purse':
        return { names: ['last_turn'], valuesOf: (row) => [newestOf(row)] }
      default:
        return { names: [], valuesOf: () => [] }
    }
  }
}

/** Filled under another name, so that no server finds half of it. @throws Unusable where there is an installation already */
export async function openSqliteTarget({ file, files, process, clock }: SqliteMove): Promise<Target> {
  const place = Place.take(file, process.pid, clock.now())
  let db: Connection | undefined
  try {
    // Also the log of a database that is gone: SQLite would take it for that of the one which comes.
    for (const there of [file, `${file}-wal`])
      if ((statSync(there, { throwIfNoEntry: false })?.size ?? 0) > 0)
        throw new Unusable(`${there} is there already. Name an empty folder.`)
    const part = `${file}.moving`
    if (existsSync(part) && !isHalf(part)) remove(part)
    if (!existsSync(part)) await (await openSqliteStore({ file: part, process, clock })).close()
    db = openForWriting(part, defaultBusyTimeoutMs, false)
    if (!isCurrent(db.prepare<[], string>('select name from migration').pluck().all()))
      throw new Unusable(
        `${part} was begun by another version of svc-gateway. Go on with that one, or remove it and begin again.`,
      )
    return new SqliteTarget(db, files, place, file)
  } catch (error) {
    db?.close()
    place.release()
    throw error instanceof Unusable ? error : new Unusable(`${file} cannot be filled: ${whyNot(error)}.`, { cause: error })
  }
}

/** Whether rows may have come to it; before, it is nothing. */
function isHalf(part: string): boolean {
  const db = openForWriting(part, defaultBusyTimeoutMs, true)
  try {
    return isBegun(db)
  } finally {
    db.close()
  }
}

function isBegun(db: Connection): boolean {
  return db.prepare(`select 1 from sqlite_schema where name = 'moving'`).get() !== undefined
}

function remove(part: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(part + suffix, { force: true })
}
