/** Starting on PostgreSQL: several nodes at once, an older one beside a newer one, and what cannot be used. */
import { Client } from 'pg'
import t from 'tap'
import { freePort } from '../../support/free-port.ts'
import { postgresFor } from '../../support/postgres.ts'
import { addAccount } from '../contract.ts'
import { furnish, openOn, optionsFor } from './support.ts'
import { openPostgresStore } from '../../../src/store/postgres/open.ts'
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
