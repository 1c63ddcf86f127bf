/** One secret for all nodes, whichever is first. */
import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import t from 'tap'
import type { Test } from 'tap'
import { Connections } from '../../../../../src/store/postgres/connection/connections.ts'
import { openInstallation } from '../../../../../src/store/postgres/cluster/installation.ts'
import { providePostgres } from '../../../../support/servers/postgres/postgres.ts'
import { createTestSchema, openTestStore } from '../test-store.ts'

const postgres = await providePostgres(t, createTestSchema)

if (postgres !== undefined) {
  const ground = async (t: Test) => {
    const url = await postgres.createDatabase(t)
    const client = new Client({ connectionString: url })
    await client.connect()
    const nodes = [1, 2, 3].map(() => new Connections({ url, max: 1 }))
    t.teardown(() => Promise.all([client.end(), ...nodes.map((node) => node.close())]))
    return {
      url,
      client,
      nodes,
      row: async () => (await client.query('select secret, secret_proof as proof from installation')).rows,
    }
  }

  t.test('creates one secret when three nodes start at once, and reads it at the next start', async (t) => {
    const { nodes, row, url } = await ground(t)
    const begun = await Promise.all(nodes.map((node) => openInstallation(node, null)))
    t.equal(begun.filter(({ isNew }) => isNew).length, 1)
    t.equal(new Set(begun.map(({ secret }) => secret.toString('hex'))).size, 1)
    t.equal(begun[0]?.secret.length, 32)
    t.same(
      (await row()).map(({ secret }) => secret),
      [begun[0]?.secret],
    )
    const store = await openTestStore(t, url)
    t.same(await store.openInstallation(null), { secret: begun[0]?.secret, isNew: false })
  })

  t.test('stores no configured secret, and requires it on each node', async (t) => {
    const { nodes, row } = await ground(t)
    const given = randomBytes(32)
    const begun = await Promise.all(nodes.map((node) => openInstallation(node, given)))
    t.equal(begun.filter(({ isNew }) => isNew).length, 1)
    t.ok(begun.every(({ secret }) => secret.equals(given)))
    const [{ secret, proof }] = await row()
    t.equal(secret, null)
    t.notOk(proof.equals(given))
    await t.rejects(openInstallation(nodes[0]!, null), {
      name: 'OperatorError',
      message: /not stored in its database: set SECRET_KEY/,
    })
  })

  t.test('refuses a node with another secret without revealing it', async (t) => {
    const { nodes, row } = await ground(t)
    const { secret } = await openInstallation(nodes[0]!, null)
    t.same(await openInstallation(nodes[1]!, secret), { secret, isNew: false }, 'the same secret may be configured')
    const other = randomBytes(32)
    const refusal = await openInstallation(nodes[1]!, other).then(
      () => '',
      (error: Error) => `${error.name} ${error.message}`,
    )
    t.match(refusal, /^OperatorError SECRET_KEY differs from the secret/)
    for (const value of [secret, other])
      for (const form of ['hex', 'base64'] as const) t.notOk(refusal.includes(value.toString(form)))
    t.same((await row())[0].secret, secret)
  })

  t.test('refuses a damaged secret in the database', async (t) => {
    const { nodes, client } = await ground(t)
    await openInstallation(nodes[0]!, null)
    await client.query('update installation set secret = $1', [randomBytes(32)])
    await t.rejects(openInstallation(nodes[1]!, null), { name: 'OperatorError', message: /secret in the database is damaged/ })
  })

  t.test('creates an installation with an existing secret', async (t) => {
    const { nodes } = await ground(t)
    const moved = randomBytes(32)
    t.same(await openInstallation(nodes[0]!, null, () => moved), { secret: moved, isNew: true })
    t.same(await openInstallation(nodes[1]!, null), { secret: moved, isNew: false })
  })
}
