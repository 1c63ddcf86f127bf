/** Compares the two schemas, and tests the constraints of PostgreSQL's. */
import { Client } from 'pg'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import type { Test } from 'tap'
import { selectTurnsByIndex } from '../../../../../src/store/repositories/billing/turns.ts'
import { getTemplateDatabase } from '../../../../runner/template-database.ts'
import { providePostgres } from '../../../../support/servers/postgres/postgres.ts'
import { createTestSchema, openTestStore } from '../test-store.ts'

const postgres = await providePostgres(t, createTestSchema)

/** Columns of a minimal turn; its account is the second. */
const turnColumns = `request_id, account, model, pool, owner_process, lease_until, started_at, reserved, reserved_plan, day_bucket, week_bucket, month_bucket,
  debt, price_input, price_output, discount_percent, input_tokens, cached_input_tokens, output_tokens, estimated, api_format, credential`
const turnValues = `'svc', 'fast', 1, 0, 0, 9, 9, 1, 2, 3, 0, 1, 1, 0, 0, 0, 0, 0, 'chat_completions', ''`

type Tables = Record<string, Record<string, string>>

if (postgres !== undefined) {
  const connect = async (t: Test): Promise<Client> => {
    const client = new Client({ connectionString: await postgres.createDatabase(t) })
    await client.connect()
    t.teardown(() => client.end())
    return client
  }

  t.test('has the same tables and columns in both databases, except those named here', async (t) => {
    const client = await connect(t)
    const { rows } = await client.query(
      `select table_name, column_name, data_type, is_nullable from information_schema.columns where table_schema = 'public'
      order by ordinal_position`,
    )
    const shared = tablesOf(rows.map((row) => [row.table_name, row.column_name, row.data_type, row.is_nullable === 'NO']))
    const db = new Sqlite(await getTemplateDatabase(), { readonly: true })
    const found = db
      .prepare<[], { table: string; column: string; type: string; notnull: number }>(
        `select master.name as "table", info.name as "column", info.type, info."notnull" from sqlite_schema as master
        join pragma_table_info(master.name) as info where master.type = 'table' and master.name not like 'sqlite_%'`,
      )
      .all()
    db.close()
    const alone = tablesOf(found.map(({ table, column, type, notnull }) => [table, column, type.toLowerCase(), notnull === 1]))

    // SQLite writes balances behind and has a watermark; PostgreSQL writes them with each batch and has a version.
    const { balance: written, balance_watermark: watermark, balance_watermark_hold: holds, process: locked, ...same } = alone
    const {
      balance,
      process: leased,
      job_lease: lease,
      installation,
      image_data: data,
      outbound_email: emails,
      limit_time: limits,
      ...expected
    } = shared
    t.ok(watermark && holds && lease && installation && data && emails && limits)
    const { last_turn: lastTurn, ...sharedColumns } = written ?? {}
    t.same(
      { ...balance },
      { ...sharedColumns, version: 'whole, not null', open_holds: 'whole, not null', pack_count: 'whole, not null' },
      'balance',
    )
    t.equal(lastTurn, 'whole, not null', 'the link between an account’s turns, instead of an index by account')
    t.same(Object.keys(locked ?? {}), ['id', 'name', 'pid', 'started_at'], 'liveness by a lock')
    t.same(
      Object.keys(leased ?? {}),
      ['id', 'name', 'version', 'config', 'jobs_without_connection', 'alive_until'],
      'liveness by the database’s clock',
    )

    t.same(expected['account_change']?.['at'], 'timestamp with time zone, not null')
    delete expected['account_change']?.['at']
    t.same(expected['migration']?.['readable_by'], 'text')
    delete expected['migration']?.['readable_by']
    t.same(same['turn']?.['previous_turn'], 'whole, not null')
    delete same['turn']?.['previous_turn']
    t.same(expected, same)
  })

  t.test('refuses changes to final ledger rows', async (t) => {
    const client = await connect(t)
    const hash = `decode(repeat('00', 16), 'hex')`
    await client.query(
      `insert into account (id, plan, status, email_verified, created_at) values ('acc', 'free', 'active', 0, 0)`,
    )
    await client.query(`insert into ledger_account values (1, 'acc', ${hash})`)
    await client.query(`insert into entry values ('acc', 1, 'open', 0, '[]', ${hash})`)
    await client.query(`insert into balance (account, seq, hash, fast_day_granted) values ('acc', 1, ${hash}, 100)`)
    const turn = (id: number, state: string, endedAt: number | null, seq: number) =>
      client.query(
        `insert into turn (id, request_id, account, model, pool, state, owner_process, lease_until, started_at, ended_at, reserved, reserved_plan, day_bucket,
          week_bucket, month_bucket, credits, debt, price_input, price_output, discount_percent, input_tokens, cached_input_tokens, output_tokens, estimated, seq, api_format, credential)
        values ($1, 'mbr', 'acc', 'svc', 'fast', $2, 1, 0, 0, $3, 0, 0, 1, 2, 3, 0, 0, 1, 1, 0, 0, 0, 0, 0, $4, 'chat_completions', '')`,
        [id, state, endedAt, seq],
      )
    await turn(1, 'settled', 5, 2)
    await turn(2, 'held', null, 0)
    for (const wrong of [
      `update ledger_account set account = 'other'`,
      'delete from ledger_account',
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

  t.test('finds the turns of one account by its index, however many newer ones others have', async (t) => {
    const url = await postgres.createDatabase(t)
    const client = new Client({ connectionString: url })
    await client.connect()
    t.teardown(() => client.end())
    await client.query(
      `insert into turn (id, state, credits, ${turnColumns})
      select id, 'held', 0, 'mbr', case when id % 2 = 0 then 'ada' else 'bob' end, ${turnValues} from generate_series(1::bigint, 2000) as id`,
    )
    await client.query('analyze turn')
    const { database } = await openTestStore(t, url)
    const planOf = async (query: { explain(): Promise<readonly Record<string, unknown>[]> }) =>
      (await query.explain()).map((row) => String(row['QUERY PLAN'])).join('\n')
    const ofAda = selectTurnsByIndex(database.read, 'ada').selectAll('turn').limit(20)
    t.match(await planOf(ofAda), /^Limit.*\n *->  Index Scan Backward using turn_key/)
    t.match(await planOf(ofAda.where('turn.id', '<', 900)), /^Limit.*\n *->  Index Scan Backward using turn_key/)
    t.same((await ofAda.where('turn.id', '<', 900).execute()).map(({ id, account }) => [id, account]).slice(0, 2), [
      [898, 'ada'],
      [896, 'ada'],
    ])
  })
}

/** Column types by one name for both databases. */
function tablesOf(columns: readonly (readonly [table: string, column: string, type: string, notNull: boolean])[]): Tables {
  const kinds: Readonly<Record<string, string>> = { bigint: 'whole', integer: 'whole', bytea: 'bytes', blob: 'bytes' }
  const tables: Tables = {}
  for (const [table, column, type, notNull] of columns)
    (tables[table] ??= {})[column] = `${kinds[type] ?? type}${notNull ? ', not null' : ''}`
  return tables
}
