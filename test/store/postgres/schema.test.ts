/** The two schemas side by side, and the promises that PostgreSQL's keeps by itself. */
import { Client } from 'pg'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import type { Test } from 'tap'
import { turnsByIndex } from '../../../src/store/turns.ts'
import { emptyDatabase } from '../../support/empty-database.ts'
import { postgresFor } from '../../support/postgres.ts'
import { furnish, openOn } from './support.ts'

const postgres = await postgresFor(t, furnish)

/** Of a turn that says nothing; its account comes second. */
const turnColumns = `request_id, account, model, pool, owner, until, started_at, reserved, reserved_plan, day_bucket, week_bucket, month_bucket,
  debt, price_input, price_output, discount_percent, input_tokens, output_tokens, estimated`
const turnValues = `'svc', 'fast', 1, 0, 0, 9, 9, 1, 2, 3, 0, 1, 1, 0, 0, 0, 0`

type Tables = Record<string, Record<string, string>>

if (postgres !== undefined) {
  const connect = async (t: Test): Promise<Client> => {
    const client = new Client({ connectionString: await postgres.database(t) })
    await client.connect()
    t.teardown(() => client.end())
    return client
  }

  t.test('both databases have the same tables with the same columns, but for what is named here', async (t) => {
    const client = await connect(t)
    const { rows } = await client.query(
      `select table_name, column_name, data_type, is_nullable from information_schema.columns where table_schema = 'public'
      order by ordinal_position`,
    )
    const shared = tablesOf(rows.map((row) => [row.table_name, row.column_name, row.data_type, row.is_nullable === 'NO']))
    const db = new Sqlite(await emptyDatabase(), { readonly: true })
    const found = db
      .prepare<[], { table: string; column: string; type: string; notnull: number }>(
        `select master.name as "table", info.name as "column", info.type, info."notnull" from sqlite_schema as master
        join pragma_table_info(master.name) as info where master.type = 'table' and master.name not like 'sqlite_%'`,
      )
      .all()
    db.close()
    const alone = tablesOf(found.map(({ table, column, type, notnull }) => [table, column, type.toLowerCase(), notnull === 1]))

    // Written behind on SQLite, so it has a mark from which on; written with each batch on PostgreSQL, so it has a version.
    const { written_purse: written, purse_mark: mark, purse_mark_hold: holds, process: locked, ...same } = alone
    const { purse, process: leased, chore, installation, image_data: data, letter, limit_time: limits, ...expected } = shared
    t.ok(mark && holds && chore && installation && data && letter && limits)
    const { last_turn: lastTurn, ...purseThere } = written ?? {}
    t.same(
      { ...purse },
      { ...purseThere, version: 'whole, not null', running: 'whole, not null', packs: 'whole, not null' },
      'the purse',
    )
    t.equal(lastTurn, 'whole, not null', 'the way to an account’s turns, where there is no index by account')
    t.same(Object.keys(locked ?? {}), ['id', 'name', 'pid', 'started_at'], 'alive by a lock')
    t.same(Object.keys(leased ?? {}), ['id', 'name', 'version', 'alive_until'], 'alive by the database’s clock')

    t.same(expected['account_change']?.['at'], 'timestamp with time zone, not null')
    delete expected['account_change']?.['at']
    t.same(expected['migration']?.['readable_by'], 'text')
    delete expected['migration']?.['readable_by']
    t.same(same['turn']?.['previous'], 'whole, not null')
    delete same['turn']?.['previous']
    t.same(expected, same)
  })

  t.test('what the ledger has written is final', async (t) => {
    const client = await connect(t)
    const hash = `decode(repeat('00', 16), 'hex')`
    await client.query(
      `insert into account (id, plan, status, email_verified, created_at) values ('acc', 'free', 'active', 0, 0)`,
    )
    await client.query(`insert into roster values (1, 'acc', ${hash})`)
    await client.query(`insert into entry values ('acc', 1, 'open', 0, '[]', ${hash})`)
    await client.query(`insert into purse (account, seq, hash, fast_day_granted) values ('acc', 1, ${hash}, 100)`)
    const turn = (id: number, state: string, endedAt: number | null, seq: number) =>
      client.query(
        `insert into turn (id, request_id, account, model, pool, state, owner, until, started_at, ended_at, reserved, reserved_plan, day_bucket,
          week_bucket, month_bucket, credits, debt, price_input, price_output, discount_percent, input_tokens, output_tokens, estimated, seq)
        values ($1, 'mbr', 'acc', 'svc', 'fast', $2, 1, 0, 0, $3, 0, 0, 1, 2, 3, 0, 0, 1, 1, 0, 0, 0, 0, $4)`,
        [id, state, endedAt, seq],
      )
    await turn(1, 'settled', 5, 2)
    await turn(2, 'held', null, 0)
    for (const wrong of [
      `update roster set account = 'other'`,
      'delete from roster',
      `update entry set detail = '[1]'`,
      'delete from entry',
      'delete from turn where id = 1',
      'delete from turn where id = 2',
    ])
      await t.rejects(client.query(wrong), /are final/, wrong)
    await client.query(`insert into checkpoint values ('acc', 2, ${hash}, '{}', ${hash})`)
    await client.query('delete from entry')
    await client.query('delete from turn where id = 1')
    await t.rejects(client.query('delete from turn where id = 2'), /are final/, 'an open hold stays')
  })

  t.test('one account’s turns are found by its own index, however many others have newer ones', async (t) => {
    const url = await postgres.database(t)
    const client = new Client({ connectionString: url })
    await client.connect()
    t.teardown(() => client.end())
    await client.query(
      `insert into turn (id, state, credits, ${turnColumns})
      select id, 'held', 0, 'mbr', case when id % 2 = 0 then 'ada' else 'bob' end, ${turnValues} from generate_series(1::bigint, 2000) as id`,
    )
    await client.query('analyze turn')
    const { database } = await openOn(t, url)
    const planOf = async (query: { explain(): Promise<readonly Record<string, unknown>[]> }) =>
      (await query.explain()).map((row) => String(row['QUERY PLAN'])).join('\n')
    const ofAda = turnsByIndex(database.read, 'ada').selectAll('turn').limit(20)
    t.match(await planOf(ofAda), /^Limit.*\n *->  Index Scan Backward using turn_key/)
    t.match(await planOf(ofAda.where('turn.id', '<', 900)), /^Limit.*\n *->  Index Scan Backward using turn_key/)
    t.same((await ofAda.where('turn.id', '<', 900).execute()).map(({ id, account }) => [id, account]).slice(0, 2), [
      [898, 'ada'],
      [896, 'ada'],
    ])
  })
}

/** Kinds by one name for both databases. */
function tablesOf(columns: readonly (readonly [table: string, column: string, type: string, notNull: boolean])[]): Tables {
  const kinds: Readonly<Record<string, string>> = { bigint: 'whole', integer: 'whole', bytea: 'bytes', blob: 'bytes' }
  const tables: Tables = {}
  for (const [table, column, type, notNull] of columns)
    (tables[table] ??= {})[column] = `${kinds[type] ?? type}${notNull ? ', not null' : ''}`
  return tables
}
