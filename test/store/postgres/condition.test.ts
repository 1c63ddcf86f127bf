/** What a server says of itself, asked of real ones: alone, with a standby that is waited for, and after that is gone. */
import { Client } from 'pg'
import t from 'tap'
import type { Test } from 'tap'
import type { Condition } from '../../../src/membership/condition.ts'
import { conditionAt } from '../../../src/store/postgres/condition.ts'
import { until } from '../../support/gateway.ts'
import { behindPooler } from '../../support/pooler.ts'
import { clusterFor } from '../../support/postgres.ts'
import { furnish, openOn } from './support.ts'

const cluster = await clusterFor(t, furnish, { durable: true })

if (cluster !== undefined) {
  const clock = { now: () => Date.now(), ticks: () => performance.now() }
  const connected = async (t: Test, url: string): Promise<Client> => {
    const client = new Client({ connectionString: url })
    await client.connect()
    t.teardown(() => client.end())
    return client
  }
  /** What a setting of the whole server, or of a database, comes to. */
  const becomes = async (url: string, holds: (condition: Condition) => boolean, what: string): Promise<Condition> => {
    let last = await conditionAt(url, clock)
    await until(async () => {
      last = await conditionAt(url, clock)
      return holds(last)
    }, what)
    return last
  }

  t.test('a server alone', async (t) => {
    const url = await cluster.database(t, { empty: true })
    const condition = await conditionAt(url, clock)
    t.match(condition, {
      version: /^\d+\.\d+/,
      isDurable: true,
      standbys: { synchronous: 0, behind: 0 },
      waitsFor: 0,
      connections: { most: 197 },
      isPooled: false,
      nodes: [],
    })
    t.ok(condition.roundTripMs > 0 && condition.roundTripMs < 1_000, `${condition.roundTripMs} ms`)
    t.ok(Math.abs(condition.clockAheadMs) < 1_000, `${condition.clockAheadMs} ms`)
    t.ok(Math.abs((await conditionAt(url, { ...clock, now: () => Date.now() + 60_000 })).clockAheadMs - 60_000) < 1_000)
  })

  t.test('it tells of nodes that are alive, by version, over a node’s own connections', async (t) => {
    const url = await cluster.database(t)
    const [first] = await Promise.all(
      ['1.0.0', '1.0.0', '1.1.0'].map((version, nth) => openOn(t, url, { process: { id: `node-${nth}`, version } })),
    )
    t.same((await first?.cluster?.condition())?.nodes, [
      { version: '1.0.0', count: 2 },
      { version: '1.1.0', count: 1 },
    ])
    t.same((await conditionAt(url, clock)).nodes, (await first?.cluster?.condition())?.nodes, 'as a command is told')
    const many = await Promise.all(Array.from({ length: 9 }, () => first?.cluster?.condition()))
    t.equal(many.length, 9, 'each gives its connection back')
  })

  t.test('connections are counted by whoever may see little, and standbys are then not known', async (t) => {
    const url = await cluster.database(t)
    const administrator = await connected(t, url)
    await administrator.query('create role nobody login; grant select on process to nobody')
    const humble = new URL(url)
    humble.username = 'nobody'
    const left = async () => (await conditionAt(humble.href, clock)).connections.left
    const before = await left()
    await Promise.all([connected(t, url), connected(t, url), connected(t, url)])
    t.ok((await left()) <= before - 3, 'other users’ are seen')
    t.equal((await conditionAt(humble.href, clock)).standbys, null)
  })

  t.test('a pooler is seen by its own number for a session', async (t) => {
    const url = await cluster.database(t)
    t.equal((await conditionAt(url, clock)).isPooled, false)
    t.equal((await conditionAt(await behindPooler(t, url), clock)).isPooled, true)
  })

  t.test('what a database is set to is durable, or is not', async (t) => {
    const url = await cluster.database(t)
    const name = new URL(url).pathname.slice(1)
    const administrator = await connected(t, url)
    for (const [setting, isDurable] of [
      ['off', false],
      ['local', true],
    ] as const) {
      await administrator.query(`alter database ${name} set synchronous_commit = ${setting}`)
      t.equal((await conditionAt(url, clock)).isDurable, isDurable, setting)
    }
  })

  t.test('a standby that is waited for is there, and is missed when it is gone', async (t) => {
    const url = await cluster.database(t)
    const local = await cluster.database(t)
    const administrator = await connected(t, url)
    await administrator.query(`alter database ${new URL(local).pathname.slice(1)} set synchronous_commit = local`)
    const standby = await cluster.standby()
    t.match(await becomes(url, ({ standbys }) => standbys?.synchronous === 1, 'it to be waited for'), {
      standbys: { synchronous: 1, behind: 0 },
      waitsFor: 1,
    })
    t.equal((await conditionAt(local, clock)).waitsFor, 0, 'but not by who does not want to')
    await standby.crash()
    t.match(await becomes(url, ({ standbys }) => standbys?.synchronous === 0, 'it to be missed'), {
      standbys: { synchronous: 0, behind: 0 },
      waitsFor: 1,
    })
    for (const [names, waitsFor] of [
      ['2 (a, b, c)', 2],
      ['FIRST 3 (a, b, c)', 3],
      ['any 2(a, b)', 2],
      ['"2 (x)", b', 1],
      ['', 0],
    ] as const) {
      await administrator.query(`alter system set synchronous_standby_names = '${names}'`)
      await administrator.query('select pg_reload_conf()')
      await until(
        async () => (await administrator.query('show synchronous_standby_names')).rows[0].synchronous_standby_names === names,
        'the setting',
      )
      t.equal((await conditionAt(url, clock)).waitsFor, waitsFor, names)
    }
  })
}
