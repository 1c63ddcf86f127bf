/** Starting on PostgreSQL: several nodes at once, an older one beside a newer one, and unusable databases. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import type { Kysely } from 'kysely'
import type { Test } from 'tap'
import t from 'tap'
import { waitUntil } from '../../../support/gateway/test-gateway.ts'
import { findFreePort } from '../../../support/free-port.ts'
import { providePostgres } from '../../../support/servers/postgres/postgres.ts'
import { addAccount } from '../../../support/store/contract/store-contract.ts'
import { run } from '../../../../src/operator/main.ts'
import { writeTestConfig } from '../../../support/processes/server-process.ts'
import { createTemporaryFolder } from '../../../support/temporary-folder.ts'
import { confirmServer } from '../../../../src/store/postgres/confirm-server.ts'
import { createTestSchema, openTestStore, createTestOptions } from './test-store.ts'
import { migrate } from '../../../../src/store/migrations/migrate.ts'
import type { Migration } from '../../../../src/store/migrations/migration.ts'
import { Connections } from '../../../../src/store/postgres/connection/connections.ts'
import { createKysely, postgresDialect } from '../../../../src/store/postgres/dialect.ts'
import { openPostgresStore } from '../../../../src/store/postgres/open.ts'
import { migrations } from '../../../../src/store/migrations/migrations.ts'
import type { Schema } from '../../../../src/store/schema/schema.ts'
import { OperatorError } from '../../../../src/system/operator-error.ts'

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  await client.connect()
  return client
}

const postgres = await providePostgres(t, createTestSchema)

if (postgres !== undefined) {
  t.test('creates one schema when several nodes start together on an empty database', async (t) => {
    const url = await postgres.createDatabase(t, { empty: true })
    const nodes = await Promise.all([openTestStore(t, url), openTestStore(t, url), openTestStore(t, url)])
    await Promise.all(nodes.map((node, index) => addAccount(node, index + 1)))
    for (const node of nodes) t.equal(await node.accounts.count(), 3)
    t.equal(new Set(nodes.map(({ nodeLease }) => nodeLease.id)).size, 3, 'each has an id of its own')
  })

  t.test('no command makes tables in an empty database', async (t) => {
    const url = await postgres.createDatabase(t, { empty: true })
    const message = /There is no installation in this database\. Check STORE_URL/
    const file = join(createTemporaryFolder(t), 'seen.json')
    await t.rejects(confirmServer({ url, clock: createTestOptions(url).clock, file }), { name: 'OperatorError', message })
    t.notOk(existsSync(file), 'and nothing is accepted')
    await t.rejects(openPostgresStore(createTestOptions(url, { role: 'command' })), { name: 'OperatorError', message })
    const folder = createTemporaryFolder(t)
    const parts = `store: { ...base.store, url: '${url}', dataDir: '${folder}' }, mail: { smtpUrl: 'smtp://127.0.0.1:9' }`
    const config = writeTestConfig(folder, `{ ...base, ${parts} }`)
    const operate = (...words: string[]) => {
      process.env['GATEWAY_CONFIG'] = config
      return run(words)
    }
    for (const words of [
      ['account', 'list'],
      ['ledger', 'verify'],
      ['store', 'accept'],
    ])
      t.match(await operate(...words), { code: 1, stderr: message }, words.join(' '))
    const { findings } = JSON.parse((await operate('doctor', '--json')).stdout) as { findings: { what: string }[] }
    t.match(
      findings.find(({ what }) => what === 'ledger'),
      { ok: true, detail: /^none yet; the first start makes one/ },
    )
    const client = await connect(url)
    t.teardown(() => client.end())
    const { rows } = await client.query(`select relname from pg_class where relnamespace = 'public'::regnamespace`)
    t.same(rows, [])
  })

  t.test('refuses a newer schema unless it is marked as readable by this version', async (t) => {
    const url = await postgres.createDatabase(t)
    const client = new Client({ connectionString: url })
    await client.connect()
    t.teardown(() => client.end())
    await client.query(`insert into migration values ('0099-later', 0, '0001-initial')`)
    await openTestStore(t, url)
    await client.query(`update migration set readable_by = '0098-unknown' where name = '0099-later'`)
    await t.rejects(openPostgresStore(createTestOptions(url)), { name: 'OperatorError', message: /newer version.*0099-later/ })
    await client.query(`update migration set readable_by = null where name = '0099-later'`)
    await t.rejects(openPostgresStore(createTestOptions(url)), OperatorError)
  })

  /** Migrates as the next version does. */
  const next = async (t: Test, url: string, change: Partial<Migration>): Promise<void> => {
    const connections = new Connections({ url, max: 1 })
    t.teardown(() => connections.close())
    const up = (db: Kysely<Schema>) => db.schema.alterTable('turn').addColumn('novelty', 'text').execute()
    const list = [...migrations, { name: '9999-next', up, ...change }]
    await migrate(createKysely(connections, 'begin isolation level read committed'), postgresDialect, () => 0, list)
  }

  t.test('waits with an incompatible migration until no older node is alive', async (t) => {
    const url = await postgres.createDatabase(t)
    const node = await openPostgresStore(createTestOptions(url))
    await t.rejects(next(t, url, {}), {
      name: 'OperatorError',
      message: /1 server of an older version works .*"9999-next".* Stop/,
    })
    await node.close()
    await next(t, url, {})
    await t.rejects(openPostgresStore(createTestOptions(url)), { name: 'OperatorError', message: /newer version.*9999-next/ })
  })

  t.test('lets other transactions go first when a migration waits for a table', async (t) => {
    const url = await postgres.createDatabase(t)
    const [reader, other] = [new Client({ connectionString: url }), new Client({ connectionString: url })]
    for (const client of [reader, other]) {
      await client.connect()
      t.teardown(() => client.end())
    }
    await reader.query('begin; select from turn')
    const changed = next(t, url, { readableBy: '0001-initial' })
    const waits = async () => (await other.query('select from pg_locks where not granted')).rowCount
    await waitUntil(async () => (await waits()) === 1, 'the migration to wait')
    await other.query(`set statement_timeout = '2s'; select from turn`)
    await reader.query('commit')
    await changed
    t.match((await other.query('select * from turn')).fields.at(-1), { name: 'novelty' })
  })

  t.test('refuses commands during a transfer to another store', async (t) => {
    const url = await postgres.createDatabase(t)
    const mover = new Client({ connectionString: url })
    await mover.connect()
    t.teardown(() => mover.end())
    await mover.query('begin; lock table process in share row exclusive mode')
    const guest = () => openPostgresStore(createTestOptions(url, { role: 'command' }))
    await t.rejects(guest(), { name: 'OperatorError', message: /is being transferred .* Wait/ })
    await mover.query('commit')
    await (await guest()).close()
  })

  t.test('names an unusable database in one sentence', async (t) => {
    const url = await postgres.createDatabase(t)
    const soon = { startTimeoutMs: 0 }
    const nowhere = new URL(url)
    nowhere.port = `${await findFreePort()}`
    await t.rejects(openPostgresStore(createTestOptions(nowhere.href, soon)), {
      name: 'OperatorError',
      message: /cannot be used: .*ECONNREFUSED/,
    })
    const missing = new URL(url)
    missing.pathname = '/nothing'
    await t.rejects(openPostgresStore(createTestOptions(missing.href)), {
      name: 'OperatorError',
      message: /database "nothing" does not exist/,
    })
    await t.rejects(openPostgresStore(createTestOptions('sqlite://here')), {
      name: 'OperatorError',
      message: /must be like postgres/,
    })
  })

  t.test('refuses a database with another encoding than UTF8, with its remedy', async (t) => {
    const url = await postgres.createDatabase(t, { empty: true })
    const client = await connect(url)
    for (const encoding of ['LATIN1', 'SQL_ASCII']) {
      const name = `${new URL(url).pathname.slice(1)}_${encoding.toLowerCase()}`
      await client.query(`create database ${name} encoding '${encoding}' locale 'C' template template0`)
      const other = new URL(url)
      other.pathname = name
      await t.rejects(openPostgresStore(createTestOptions(other.href)), {
        name: 'OperatorError',
        message: new RegExp(`^The database "${name}" has the encoding ${encoding}, and UTF8 is needed. Create a database with: `),
      })
      const inOther = await connect(other.href)
      const tables = await inOther.query(`select 1 from pg_tables where schemaname = 'public'`)
      t.equal(tables.rowCount, 0, 'nothing was created')
      await inOther.end()
      await client.query(`drop database ${name}`)
    }
    await client.end()
  })

  t.test('waits at a start for a database without a free connection, and logs it', async (t) => {
    const url = await postgres.createDatabase(t, { empty: true })
    const client = await connect(url)
    const database = new URL(url).pathname.slice(1)
    await client.query(`create role crowded login connection limit 1; alter database ${database} owner to crowded`)
    const crowded = new URL(url)
    crowded.username = 'crowded'
    const occupied = await connect(crowded.href)
    const reasons: string[] = []
    const log = { warn: (fields: object, message: string) => void reasons.push(`${message}: ${JSON.stringify(fields)}`) }

    await t.rejects(openPostgresStore(createTestOptions(crowded.href, { log, startTimeoutMs: 0 })), {
      name: 'OperatorError',
      message: /^The database cannot be used: too many connections for role "crowded"/,
    })
    t.same(reasons, [])

    const opening = openTestStore(t, crowded.href, { log })
    await waitUntil(() => reasons.length > 0, 'the start to wait')
    t.match(reasons[0], /^waiting for the database: .*too many connections for role/)
    await client.query('alter role crowded connection limit 20')
    const store = await opening
    t.equal(await store.accounts.count(), 0)
    await store.close()
    await occupied.end()
    await client.end()
  })

  t.test('refers to PostgreSQL’s own tools for a backup', async (t) => {
    const store = await openTestStore(t, await postgres.createDatabase(t))
    await t.rejects(store.backup('copy'), /pg_dump/)
  })
}
