/** Links of both hash versions in one chain: rows of release 0.1.0 stay as they are and verify, and what ends later has the new version. */
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'
import { Client } from 'pg'
import type { Test } from 'tap'
import t from 'tap'
import type { Store } from '../../../../src/domain/store.ts'
import { migrate } from '../../../../src/store/migrations/migrate.ts'
import { migrations } from '../../../../src/store/migrations/migrations.ts'
import { Connections } from '../../../../src/store/postgres/connection/connections.ts'
import { createKysely, postgresDialect } from '../../../../src/store/postgres/dialect.ts'
import { openLedger } from '../../../../src/store/postgres/open-ledger.ts'
import type { Schema } from '../../../../src/store/schema/schema.ts'
import { sqliteDialect } from '../../../../src/store/sqlite/dialect.ts'
import { verifyDatabaseFile } from '../../../../src/store/sqlite/maintenance/ledger-snapshot.ts'
import { parseJson } from '../../../../src/system/parse-json.ts'
import { providePostgres } from '../../../support/servers/postgres/postgres.ts'
import { createSettleOrder, noon, reserveHold, toAccountId } from '../../../support/store/contract/store-contract.ts'
import { createTestSchema, openTestStore } from '../postgres/test-store.ts'
import { createTemporaryFolder, openStoreAsIs, withRawDatabase } from '../../../support/store/sqlite/support.ts'

type Row = Readonly<Record<string, string | number | null>>
type Tables = Readonly<Record<string, readonly Row[]>>

/** The rows of small ledgers that release 0.1.0 wrote, bytes as `\x` and hexadecimal digits. */
const release = parseJson(readFileSync(new URL('release-0.1.0.json', import.meta.url), 'utf8')) as Record<
  'sqlite' | 'postgres',
  Tables
>
const releaseMigrations = migrations.slice(0, 1)
const tomorrow = noon + 86_400_000

const details = {
  plan: 'pro',
  upstreamModel: 'vendor-7b',
  upstreamResponseId: 'chatcmpl-1',
  upstreamCostNanodollars: 12_345,
}

async function createReleaseFile(t: Test): Promise<string> {
  const file = join(createTemporaryFolder(t), 'store.db')
  const kysely = new Kysely<Schema>({ dialect: new SqliteDialect({ database: new Sqlite(file) }) })
  await migrate(kysely, sqliteDialect, () => noon, releaseMigrations)
  await kysely.destroy()
  withRawDatabase(file, (db) => {
    db.pragma('foreign_keys = off')
    for (const [table, rows] of Object.entries(release.sqlite)) {
      db.exec(`delete from ${table}`)
      for (const row of rows) {
        const names = Object.keys(row)
        const values = names.map((name) => toSqliteValue(row[name] ?? null))
        db.prepare(`insert into ${table} ("${names.join('", "')}") values (${names.map(() => '?').join(', ')})`).run(...values)
      }
    }
    db.pragma('wal_checkpoint(truncate)')
  })
  // As a server does; a command refuses an older layout.
  const migrated = new Kysely<Schema>({ dialect: new SqliteDialect({ database: new Sqlite(file) }) })
  await migrate(migrated, sqliteDialect, () => noon, migrations)
  await migrated.destroy()
  return file
}

function toSqliteValue(value: string | number | null): string | number | Buffer | null {
  return typeof value === 'string' && value.startsWith('\\x') ? Buffer.from(value.slice(2), 'hex') : value
}

/** Ends the old hold and runs a turn of an old account, with all details. */
async function continueLedger(store: Store): Promise<void> {
  t.same((await store.ledger.verify()).mismatches, [], 'the chains of the release verify')
  const [held] = await store.ledger.turns({ state: 'held', limit: 10 })
  if (held === undefined) throw new Error('the release has left no hold')
  await store.ledger.settle({ ...createSettleOrder(held.id, 15, tomorrow), details })
  const { id } = await reserveHold(store, { at: tomorrow, amount: 10 })
  await store.ledger.settle({ ...createSettleOrder(id, 7, tomorrow), details })
  const { id: other } = await reserveHold(store, { at: tomorrow, amount: 10 })
  await store.ledger.refund({ hold: other, at: tomorrow, code: 'upstream_error', target: 'main/m', upstreamStatus: 500, details })
  t.match(await store.ledger.verify(), { mismatches: [], holdsOpen: 0 }, 'chains of both versions verify')
  const [newest] = await store.ledger.turns({ limit: 1 })
  t.match(newest, { state: 'refunded', ...details })
}

t.test('an SQLite ledger of release 0.1.0 goes on with links of version 2, and its rows stay as they were', async (t) => {
  const file = await createReleaseFile(t)
  const store = await openStoreAsIs(t, file)
  await continueLedger(store)
  await store.close()
  withRawDatabase(file, (db) => {
    const versions = db.prepare('select hash_version as version, count(*) as turns from turn group by 1 order by 1').all()
    t.same(versions, [
      { version: 1, turns: 5 },
      { version: 2, turns: 3 },
    ])
    for (const old of release.sqlite['turn'] ?? []) {
      if (old['state'] === 'held') continue
      const row = db.prepare('select * from turn where id = ?').get(old['id']) as Record<string, unknown>
      t.match(row, Object.fromEntries(Object.keys(old).map((name) => [name, toSqliteValue(old[name] ?? null)])))
    }
  })
})

t.test('verification finds a changed version, and values that the version does not cover', async (t) => {
  const file = await createReleaseFile(t)
  const store = await openStoreAsIs(t, file)
  await continueLedger(store)
  await store.close()
  let copies = 0
  const findMismatches = (change: string) => {
    const copy = `${file}-${copies++}`
    copyFileSync(file, copy)
    withRawDatabase(copy, (db) => db.exec(change))
    return verifyDatabaseFile(copy).mismatches
  }
  for (const column of ["plan = 'x'", "upstream_model = 'x'", "upstream_response_id = 'x'", 'upstream_cost_nanodollars = 1']) {
    t.match(
      findMismatches(`update turn set ${column} where id = 1`),
      [{ rule: 'the hash of a link covers its turn', detail: /^turn 1 .*hash version 1/ }],
      `${column} beside a hash of version 1`,
    )
    t.match(
      findMismatches(`update turn set ${column} where id = 7`),
      [{ rule: 'a link never changes', detail: /^turn 7 / }],
      `${column} beside a hash of version 2`,
    )
  }
  const older = findMismatches(
    'update turn set hash_version = 1, plan = null, upstream_model = null, upstream_response_id = null, upstream_cost_nanodollars = null where id = 7',
  )
  t.match(older, [{ rule: 'a link never changes', detail: /^turn 7 / }], 'a link that claims to be of version 1')
  t.match(findMismatches('update turn set hash_version = 2 where id = 1'), [{ rule: 'a link never changes' }])
  t.match(findMismatches('update turn set hash_version = 3 where id = 7'), [{ rule: 'the hash of a link covers its turn' }])
  t.equal(toAccountId(1), release.sqlite['turn']?.[0]?.['account'])
})

const postgres = await providePostgres(t, createTestSchema)

if (postgres !== undefined)
  t.test('a PostgreSQL ledger of release 0.1.0 goes on with links of version 2, and its rows stay as they were', async (t) => {
    const url = await postgres.createDatabase(t, { empty: true })
    const connections = new Connections({ url, max: 1 })
    await migrate(
      createKysely(connections, 'begin isolation level read committed'),
      postgresDialect,
      () => noon,
      releaseMigrations,
    )
    await connections.close()
    const client = new Client({ connectionString: url })
    await client.connect()
    t.teardown(() => client.end())
    for (const [table, rows] of Object.entries(release.postgres)) {
      await client.query(`delete from ${table}`)
      await client.query(`insert into ${table} select * from json_populate_recordset(null::${table}, $1)`, [JSON.stringify(rows)])
    }
    await client.query(`select nextval('turn_block')`)
    await continueLedger(await openTestStore(t, url, { ledger: openLedger }))
    const { rows: versions } = await client.query(
      'select hash_version::int as version, count(*)::int as turns from turn group by 1 order by 1',
    )
    t.same(versions, [
      { version: 1, turns: 5 },
      { version: 2, turns: 3 },
    ])
    for (const old of release.postgres['turn'] ?? []) {
      if (old['state'] === 'held') continue
      const { rows } = await client.query('select row_to_json(turn) as row from turn where id = $1', [old['id']])
      t.match(rows[0]?.row, old)
    }
  })
