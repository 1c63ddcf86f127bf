/** One secret for all nodes, whoever of them is first. */
import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import t from 'tap'
import type { Test } from 'tap'
import { Connections } from '../../../src/store/postgres/connections.ts'
import { openInstallation } from '../../../src/store/postgres/installation.ts'
import { postgresFor } from '../../support/postgres.ts'
import { furnish, openOn } from './support.ts'

const postgres = await postgresFor(t, furnish)

if (postgres !== undefined) {
  const ground = async (t: Test) => {
    const url = await postgres.database(t)
    const client = new Client({ connectionString: url })
    await client.connect()
    const nodes = [1, 2, 3].map(() => new Connections({ url, most: 1 }))
    t.teardown(() => Promise.all([client.end(), ...nodes.map((node) => node.close())]))
    return { url, client, nodes, row: async () => (await client.query('select secret, proof from installation')).rows }
  }

  t.test('three nodes that begin at once have one secret, made by one of them, and the same at the next start', async (t) => {
    const { nodes, row, url } = await ground(t)
    const begun = await Promise.all(nodes.map((node) => openInstallation(node, null)))
    t.equal(begun.filter(({ isNew }) => isNew).length, 1)
    t.equal(new Set(begun.map(({ secret }) => secret.toString('hex'))).size, 1)
    t.equal(begun[0]?.secret.length, 32)
    t.same(
      (await row()).map(({ secret }) => secret),
      [begun[0]?.secret],
    )
    const store = await openOn(t, url)
    t.same(await store.installation(null), { secret: begun[0]?.secret, isNew: false })
  })

  t.test('a secret that was given never comes into the database, and must be given to each node', async (t) => {
    const { nodes, row } = await ground(t)
    const given = randomBytes(32)
    const begun = await Promise.all(nodes.map((node) => openInstallation(node, given)))
    t.equal(begun.filter(({ isNew }) => isNew).length, 1)
    t.ok(begun.every(({ secret }) => secret.equals(given)))
    const [{ secret, proof }] = await row()
    t.equal(secret, null)
    t.notOk(proof.equals(given))
    await t.rejects(openInstallation(nodes[0]!, null), { name: 'Unusable', message: /not kept in its database: set SECRET_KEY/ })
  })

  t.test('a node with another secret is refused, and told none', async (t) => {
    const { nodes, row } = await ground(t)
    const { secret } = await openInstallation(nodes[0]!, null)
    t.same(await openInstallation(nodes[1]!, secret), { secret, isNew: false }, 'the same may be given, too')
    const other = randomBytes(32)
    const refusal = await openInstallation(nodes[1]!, other).then(
      () => '',
      (error: Error) => `${error.name} ${error.message}`,
    )
    t.match(refusal, /^Unusable SECRET_KEY is another secret/)
    for (const told of [secret, other])
      for (const form of ['hex', 'base64'] as const) t.notOk(refusal.includes(told.toString(form)))
    t.same((await row())[0].secret, secret)
  })

  t.test('a secret in the database that is not what it was is not used', async (t) => {
    const { nodes, client } = await ground(t)
    await openInstallation(nodes[0]!, null)
    await client.query('update installation set secret = $1', [randomBytes(32)])
    await t.rejects(openInstallation(nodes[1]!, null), { name: 'Unusable', message: /secret in the database is damaged/ })
  })

  t.test('an installation may begin with a secret that there is already', async (t) => {
    const { nodes } = await ground(t)
    const moved = randomBytes(32)
    t.same(await openInstallation(nodes[0]!, null, () => moved), { secret: moved, isNew: true })
    t.same(await openInstallation(nodes[1]!, null), { secret: moved, isNew: false })
  })
}
