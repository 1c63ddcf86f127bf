/** An installation on PostgreSQL that is moved, or moved to. No node is alive meanwhile, and none can start. */
import type { PoolClient } from 'pg'
import type { Verification } from '../../membership/ledger.ts'
import { Unusable } from '../../system/unusable.ts'
import { isCurrent, underWay } from '../migrate.ts'
import type { ImageOf, Side, Sums, Target } from '../moving/move.ts'
import { movedTables, quoted } from '../moving/tables.ts'
import type { MovedTable, Row, Shape, Value } from '../moving/tables.ts'
import { arrayOf, columnOf } from './arrays.ts'
import { alone, Connections } from './connections.ts'
import { openInstallation } from './installation.ts'
import { LaneLink } from './lane-link.ts'
import { prepareDatabase, reasonOf } from './open.ts'
import { steps } from './steps.ts'
import { runTask } from './tasks.ts'

export interface PostgresMove {
  readonly url: string
  /** The installation's secret, where it is kept out of the database. */
  readonly secret: Buffer | null
  readonly clock: { now(): number; ticks(): number }
  /** How long to look for a server that takes writes. */
  readonly patienceMs?: number
}

/** A move takes as long as it takes; the server must not end what waits for it. */
const patientMs = 24 * 3_600_000
const defaultPatienceMs = 5_000
/** For another one that is just leaving. */
const lockMs = 10_000

interface Column {
  readonly name: string
  readonly type: string
}

class PostgresSide implements Side {
  protected readonly connections: Connections
  /** Keeps others out, in a transaction that lasts as long as this; and answers what is asked. */
  protected readonly guard: PoolClient
  protected readonly options: PostgresMove
  readonly #columns: ReadonlyMap<string, readonly Column[]>

  constructor(
    options: PostgresMove,
    connections: Connections,
    guard: PoolClient,
    columns: ReadonlyMap<string, readonly Column[]>,
  ) {
    this.options = options
    this.connections = connections
    this.guard = guard
    this.#columns = columns
  }

  async columnsOf(table: MovedTable): Promise<readonly string[]> {
    return (this.#columns.get(table.name) ?? []).map(({ name }) => name)
  }

  async count({ name }: MovedTable): Promise<number> {
    const { rows } = await this.connections.read(`select count(*) as rows from ${name}`, [])
    return rows[0].rows
  }

  async page({ table, columns }: Shape, after: Row | null, most: number): Promise<readonly Row[]> {
    const key = table.key.map((name) => this.#ordered(table, name)).join(', ')
    const places = table.key.map((name, index) => `$${index + 1}::${this.typeOf(table, name)}`).join(', ')
    const condition = after === null ? '' : `where (${key}) > (${places})`
    const { rows } = await this.guard.query<Value[]>({
      text: `select ${quoted(columns)} from ${table.name} ${condition} order by ${key} limit ${most}`,
      values: [...(after ?? [])],
      rowMode: 'array',
    })
    return rows
  }

  async lastKey(table: MovedTable): Promise<Row | null> {
    const order = table.key.map((name) => `${this.#ordered(table, name)} desc`).join(', ')
    const text = `select ${quoted(table.key)} from ${table.name} order by ${order} limit 1`
    const { rows } = await this.guard.query<Value[]>({ text, rowMode: 'array' })
    return rows[0] ?? null
  }

  verify(): Promise<Verification> {
    return runTask('verify', { url: this.options.url })
  }

  async secret(): Promise<Uint8Array | null> {
    const none = (): never => {
      throw new Unusable('The database has no installation: no server has ever started on it.')
    }
    return (await openInstallation(this.connections, this.options.secret, none)).secret
  }

  async image({ hash }: ImageOf): Promise<Uint8Array | null> {
    const { rows } = await this.guard.query<{ data: Uint8Array }>('select data from image_data where hash = $1', [hash])
    return rows[0]?.data ?? null
  }

  async close(): Promise<void> {
    await this.guard.query('rollback').catch(() => undefined)
    this.connections.giveBack(this.guard)
    await this.connections.close()
  }

  protected typeOf({ name: table }: MovedTable, column: string): string {
    return this.#columns.get(table)?.find(({ name }) => name === column)?.type ?? 'text'
  }

  /** Byte by byte, like SQLite, whatever language the database was made for. */
  #ordered(table: MovedTable, column: string): string {
    return this.typeOf(table, column) === 'text' ? `"${column}" collate "C"` : `"${column}"`
  }
}

/** Gives back what dead nodes held, as a living one would. @throws Unusable where a node lives */
export async function openPostgresSource(options: PostgresMove): Promise<Side> {
  return opened(options, async (connections, guard, columns) => {
    if (await isHalf(guard)) throw new Unusable('The database is half filled itself. Finish moving to it first.')
    await giveBackHolds(options, guard)
    return new PostgresSide(options, connections, guard, columns)
  })
}

/** @throws Unusable where there is an installation already, or a node lives */
export async function openPostgresTarget(options: PostgresMove): Promise<Target> {
  return opened(options, async (connections, guard, columns) => {
    const isEmpty = async (): Promise<boolean> => {
      const conditions = movedTables.map(({ name }) =>
        name === 'roster_end' ? 'exists (select 1 from roster_end where number > 0)' : `exists (select 1 from ${name})`,
      )
      const { rows } = await guard.query<{ full: boolean }>(`select ${conditions.join(' or ')} as full`)
      return rows[0]?.full === false
    }
    if (!(await isHalf(guard)) && !(await isEmpty()))
      throw new Unusable('The database is not empty: there is an installation in it. Name an empty one.')
    return new PostgresTarget(options, connections, guard, columns)
  })
}

class PostgresTarget extends PostgresSide implements Target {
  async begun(): Promise<Sums | null> {
    if (!(await isHalf(this.guard))) return null
    const { rows } = await this.connections.read('select name, rows, hash from moving', [])
    return Object.fromEntries(rows.map(({ name, ...sum }) => [name, sum]))
  }

  async begin(sums: Sums): Promise<void> {
    const names = Object.keys(sums)
    const values = Object.values(sums)
    await this.#transact(async (client) => {
      await client.query('create table moving (name text primary key, rows bigint not null, hash text not null)')
      await client.query('insert into moving (name, rows, hash) select * from unnest($1::text[], $2::bigint[], $3::text[])', [
        arrayOf(names),
        arrayOf(values.map(({ rows }) => rows)),
        arrayOf(values.map(({ hash }) => hash)),
      ])
      await client.query('insert into migration (name, applied_at) values ($1, $2)', [underWay, this.options.clock.now()])
      await client.query('delete from roster_end')
    })
  }

  /** Ids that the database would give itself are those that there were. */
  async put({ table, columns }: Shape, rows: readonly Row[]): Promise<void> {
    const places = columns.map((name, index) => `$${index + 1}::${this.typeOf(table, name)}[]`)
    const arrays = columns.map((_, index) => columnOf(rows, index))
    await this.connections.write(
      alone,
      `insert into ${table.name} (${quoted(columns)}) overriding system value select * from unnest(${places.join(', ')})`,
      arrays,
    )
  }

  async putSecret(secret: Uint8Array): Promise<void> {
    const installation = await openInstallation(this.connections, this.options.secret, () => Buffer.from(secret))
    if (!installation.secret.equals(secret))
      throw new Unusable('The database was begun with another secret, or SECRET_KEY is another than that of what is to be moved.')
  }

  async lackingImages(after: string, most: number): Promise<readonly ImageOf[]> {
    const { rows } = await this.connections.read(
      `select hash, kind from image where hash > $1 and not exists (select 1 from image_data where image_data.hash = image.hash)
      order by hash limit $2`,
      [after, most],
    )
    return rows
  }

  async putImage({ hash }: ImageOf, bytes: Uint8Array): Promise<void> {
    await this.connections.write(alone, 'insert into image_data (hash, data) values ($1, $2) on conflict do nothing', [
      hash,
      bytes,
    ])
  }

  /** New ids come after those that there are, and purses know how many packs there are to look for. */
  async settle(): Promise<void> {
    await this.#transact(async (client) => {
      await client.query(`update purse set packs = counted.packs from (select account, count(*) as packs from pack group by account) as counted
        where counted.account = purse.account`)
      for (const sequence of [
        `'turn_block', (select max(id) + 1 from turn), false`,
        `pg_get_serial_sequence('account_change', 'seq'), (select max(seq) from account_change)`,
        `pg_get_serial_sequence('attempt', 'id'), (select max(id) from attempt)`,
        // Ended turns keep the numbers of those who held them.
        `pg_get_serial_sequence('process', 'id'), (select nullif(greatest(max(owner), (select max(id) from process)), 0) from turn)`,
      ])
        await client.query(`select setval(${sequence})`)
    })
    await this.connections.read(`analyze ${movedTables.map(({ name }) => name).join(', ')}`, [])
  }

  async finish(): Promise<void> {
    await this.#transact(async (client) => {
      await client.query('drop table moving')
      await client.query('delete from migration where name = $1', [underWay])
    })
  }

  async #transact(work: (client: PoolClient) => Promise<void>): Promise<void> {
    const client = await this.connections.take()
    let failure: unknown
    try {
      await client.query(alone)
      await work(client)
      await client.query('commit')
    } catch (error) {
      failure = error
      throw error
    } finally {
      this.connections.giveBack(client, failure)
    }
  }
}

/** With nobody else there, and the schema of this version. */
async function opened<Opened>(
  options: PostgresMove,
  open: (connections: Connections, guard: PoolClient, columns: ReadonlyMap<string, readonly Column[]>) => Promise<Opened>,
): Promise<Opened> {
  const { url, patienceMs = defaultPatienceMs } = options
  const connections = new Connections({ url, most: 3, patienceMs, statementMs: patientMs })
  try {
    await prepared(options, connections)
    const guard = await connections.take()
    try {
      await keepOthersOut(guard)
      return await open(connections, guard, await columnsIn(guard))
    } catch (error) {
      connections.giveBack(guard, error)
      throw error
    }
  } catch (error) {
    await connections.close()
    throw error instanceof Unusable ? error : new Unusable(`The database cannot be used: ${reasonOf(error)}.`, { cause: error })
  }
}

async function prepared({ url, clock, patienceMs = defaultPatienceMs }: PostgresMove, connections: Connections): Promise<void> {
  const { rows } = await connections.read(`select to_regclass('moving') is not null as half`, [])
  if (!rows[0].half) return prepareDatabase({ url, clock, startPatienceMs: patienceMs })
  const applied = (await connections.read('select name from migration', [])).rows.map(({ name }): string => name)
  if (
    !isCurrent(
      applied.filter((name) => name !== underWay),
      steps,
    )
  )
    throw new Unusable('The database was half filled by another version of svc-gateway. Go on with that one, or empty it.')
}

/** Nodes enrol before they do anything. @throws Unusable where one has, and lives */
async function keepOthersOut(guard: PoolClient): Promise<void> {
  await guard.query(alone)
  await guard.query(`set local lock_timeout = '${lockMs}ms'`)
  await guard.query('lock table process in share row exclusive mode').catch((error: unknown) => {
    if ((error as { code?: string }).code !== '55P03') throw error
    throw new Unusable('Somebody else is at work on this database: a node that starts, or another move.')
  })
  const { rows } = await guard.query<{ alive: number }>(
    'select count(*) as alive from process where alive_until >= clock_timestamp()',
  )
  const alive = rows[0]?.alive ?? 0
  if (alive > 0)
    throw new Unusable(
      `${alive} ${alive === 1 ? 'server works' : 'servers work'} on this database. Stop them first; one that was killed counts for seventeen seconds.`,
    )
}

async function isHalf(guard: PoolClient): Promise<boolean> {
  const { rows } = await guard.query<{ half: boolean }>(`select to_regclass('moving') is not null as half`)
  return rows[0]?.half === true
}

async function columnsIn(guard: PoolClient): Promise<ReadonlyMap<string, readonly Column[]>> {
  const { rows } = await guard.query<Column & { table: string }>(
    `select relation.relname as "table", attname as name, format_type(atttypid, null) as type from pg_attribute
    join pg_class as relation on relation.oid = attrelid
    where relation.oid = to_regclass(quote_ident(relation.relname)) and relation.relname = any($1::text[]) and attnum > 0 and not attisdropped
    order by attnum`,
    [movedTables.map(({ name }) => name)],
  )
  return Map.groupBy(rows, ({ table }) => table)
}

async function giveBackHolds({ url, clock }: PostgresMove, guard: PoolClient): Promise<void> {
  const { rows } = await guard.query<{ owner: number }>(`select distinct owner from turn where state = 'held'`)
  if (rows.length === 0) return
  const lane = new LaneLink({ url }, () => 0)
  try {
    for (const { owner } of rows) await lane.giveBack(owner, clock.now())
  } finally {
    await lane.close(lockMs)
  }
}
