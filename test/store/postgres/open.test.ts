/** Starting on PostgreSQL: several nodes at once, an older one beside a newer one, and what cannot be used. */
import { Client } from 'pg'
import type { Kysely } from 'kysely'
import type { Test } from 'tap'
import t from 'tap'
import { until } from '../../support/gateway.ts'
import { freePort } from '../../support/free-port.ts'
import { postgresFor } from '../../support/postgres.ts'
import { addAccount } from '../contract.ts'
import { furnish, openOn, optionsFor } from './support.ts'
import { migrate } from '../../../src/store/migrate.ts'
import type { Step } from '../../../src/store/migrations/migration.ts'
import { Connections } from '../../../src/store/postgres/connections.ts'
import { kyselyOn, postgresDialect } from '../../../src/store/postgres/dialect.ts'
import { openPostgresStore } from '../../../src/store/postgres/open.ts'
import { steps } from '../../../src/store/postgres/steps.ts'
import type { Schema } from '../../../src/store/schema.ts'
import { Unusable } from '../../../src/system/unusable.ts'

const postgres = await postgresFor(t, furnish)

if (postgres !== undefined) {
  t.test('nodes that start together on nothing make one schema, and work on it', async (t) => {
    const url = await postgres.database(t, { empty: true })
    const nodes = await Promise.all([openOn(t, url), openOn(t, url), openOn(t, url)])
    await Promise.all(nodes.map((node, index) => addAccount(node, index + 1)))
    for (const node of nodes) t.equal(await node.accounts.count(), 3)
    t.equal(new Set(nodes.map(({ presence }) => presence.id)).size, 3, 'each has a number of its own')
  })

  t.test('a newer schema is refused, unless it says that this version still works with it', async (t) => {
    const url = await postgres.database(t)
    const client = new Client({ connectionString: url })
    await client.connect()
    t.teardown(() => client.end())
    await client.query(`insert into migration values ('0099-later', 0, '0012-postgres')`)
    await openOn(t, url)
    await client.query(`update migration set readable_by = '0098-unknown' where name = '0099-later'`)
    await t.rejects(openPostgresStore(optionsFor(url)), { name: 'Unusable', message: /newer version.*0099-later/ })
    await client.query(`update migration set readable_by = null where name = '0099-later'`)
    await t.rejects(openPostgresStore(optionsFor(url)), Unusable)
  })

  /** What the next version does with its own step. */
  const next = async (t: Test, url: string, step: Partial<Step>): Promise<void> => {
    const connections = new Connections({ url, most: 1 })
    t.teardown(() => connections.close())
    const up = (db: Kysely<Schema>) => db.schema.alterTable('turn').addColumn('novelty', 'text').execute()
    const list = [...steps, { name: '9999-next', load: async () => ({ up }), ...step }]
    await migrate(kyselyOn(connections, 'begin isolation level read committed'), postgresDialect, () => 0, list)
  }

  t.test('a step beside which no older version works waits until none does', async (t) => {
    const url = await postgres.database(t)
    const node = await openPostgresStore(optionsFor(url))
    await t.rejects(next(t, url, {}), { name: 'Unusable', message: /1 server of an older version works .*"9999-next".* Stop/ })
    await node.close()
    await next(t, url, {})
    await t.rejects(openPostgresStore(optionsFor(url)), { name: 'Unusable', message: /newer version.*9999-next/ })
  })

  t.test('a step whose table is in use lets others go before it', async (t) => {
    const url = await postgres.database(t)
    const [reader, other] = [new Client({ connectionString: url }), new Client({ connectionString: url })]
    for (const client of [reader, other]) {
      await client.connect()
      t.teardown(() => client.end())
    }
    await reader.query('begin; select from turn')
    const changed = next(t, url, { readableBy: '0012-postgres' })
    const waits = async () => (await other.query('select from pg_locks where not granted')).rowCount
    await until(async () => (await waits()) === 1, 'the step to wait')
    await other.query(`set statement_timeout = '2s'; select from turn`)
    await reader.query('commit')
    await changed
    t.match((await other.query('select * from turn')).fields.at(-1), { name: 'novelty' })
  })

  t.test('no command works on what is being moved away', async (t) => {
    const url = await postgres.database(t)
    const mover = new Client({ connectionString: url })
    await mover.connect()
    t.teardown(() => mover.end())
    await mover.query('begin; lock table process in share row exclusive mode')
    const guest = () => openPostgresStore(optionsFor(url, { role: 'guest' }))
    await t.rejects(guest(), { name: 'Unusable', message: /is being moved .* Wait/ })
    await mover.query('commit')
    await (await guest()).close()
  })

  t.test('what cannot be used is said in one sentence', async (t) => {
    const url = await postgres.database(t)
    const soon = { startPatienceMs: 0 }
    const nowhere = new URL(url)
    nowhere.port = `${await freePort()}`
    await t.rejects(openPostgresStore(optionsFor(nowhere.href, soon)), {
      name: 'Unusable',
      message: /cannot be used: .*ECONNREFUSED/,
    })
    const missing = new URL(url)
    missing.pathname = '/nothing'
    await t.rejects(openPostgresStore(optionsFor(missing.href)), {
      name: 'Unusable',
      message: /database "nothing" does not exist/,
    })
    await t.rejects(openPostgresStore(optionsFor('sqlite://here')), { name: 'Unusable', message: /must be like postgres/ })
  })

  t.test('a copy is made by PostgreSQL’s own tools', async (t) => {
    const store = await openOn(t, await postgres.database(t))
    await t.rejects(store.backup('copy'), /pg_dump/)
  })
}
