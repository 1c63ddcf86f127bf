/** The status of real servers: alone, with a synchronous standby, and after its loss. */
import { Client } from 'pg'
import t from 'tap'
import type { Test } from 'tap'
import type { DatabaseStatus } from '../../../../../src/domain/database-status.ts'
import { fetchDatabaseStatus } from '../../../../../src/store/postgres/cluster/database-status.ts'
import { waitUntil } from '../../../../support/gateway/test-gateway.ts'
import { startPooler } from '../../../../support/servers/postgres/postgres-pooler.ts'
import { startPostgresServer } from '../../../../support/servers/postgres/postgres.ts'
import { createTestSchema, openTestStore } from '../test-store.ts'
import { createClock } from '../../../../../src/system/clock.ts'

const cluster = await startPostgresServer(t, createTestSchema, { durable: true })

if (cluster !== undefined) {
  const clock = createClock({})
  /** For a database that shares a busy machine. */
  const timeoutMs = 60_000
  const connected = async (t: Test, url: string): Promise<Client> => {
    const client = new Client({ connectionString: url })
    await client.connect()
    t.teardown(() => client.end())
    return client
  }
  /** Waits until the status fulfils the condition. */
  const becomes = async (url: string, holds: (condition: DatabaseStatus) => boolean, what: string): Promise<DatabaseStatus> => {
    let last = await fetchDatabaseStatus(url, clock)
    await waitUntil(async () => {
      last = await fetchDatabaseStatus(url, clock)
      return holds(last)
    }, what)
    return last
  }

  t.test('describes a single server', async (t) => {
    const url = await cluster.createDatabase(t, { empty: true })
    const condition = await fetchDatabaseStatus(url, clock)
    t.match(condition, {
      version: /^\d+\.\d+/,
      isDurable: true,
      standbys: { synchronous: 0, asynchronous: 0 },
      requiredStandbys: 0,
      connections: { max: 197 },
      isPooled: false,
      writableHosts: 1,
      oldPrimaryProtection: 'on',
      hasRoom: true,
      nodes: [],
    })
    const ahead = await fetchDatabaseStatus(url, createClock({ now: () => Date.now() + 60_000 }))
    for (const [{ clockAheadMs, roundTripMs }, expectedMs] of [
      [condition, 0],
      [ahead, 60_000],
    ] as const) {
      t.ok(roundTripMs > 0)
      // The database has read its clock at some moment of the round trip.
      t.ok(Math.abs(clockAheadMs - expectedMs) <= roundTripMs + 10, `${clockAheadMs} ms, read in ${roundTripMs} ms`)
    }
  })

  t.test('counts living nodes by version, on a node’s own connections', async (t) => {
    const url = await cluster.createDatabase(t)
    const [first] = await Promise.all(
      ['1.0.0', '1.0.0', '1.1.0'].map((version, nth) =>
        openTestStore(t, url, { process: { id: `node-${nth}`, version }, timeoutMs }),
      ),
    )
    t.same((await first?.cluster?.readDatabaseStatus())?.nodes, [
      { version: '1.0.0', count: 2 },
      { version: '1.1.0', count: 1 },
    ])
    t.same(
      (await fetchDatabaseStatus(url, clock)).nodes,
      (await first?.cluster?.readDatabaseStatus())?.nodes,
      'as seen by a command',
    )
    t.same((await fetchDatabaseStatus(url, clock)).configurations, [{ fingerprint: {}, count: 3 }])
    const many = await Promise.all(Array.from({ length: 9 }, () => first?.cluster?.readDatabaseStatus()))
    t.equal(many.length, 9, 'each returns its connection')
  })

  t.test('groups living nodes by their configuration', async (t) => {
    const url = await cluster.createDatabase(t)
    for (const [nth, plans] of ['a', 'b', 'b'].entries())
      await openTestStore(t, url, { process: { id: `node-${nth}`, version: '1.0.0', config: { plans } }, timeoutMs })
    t.same((await fetchDatabaseStatus(url, clock)).configurations, [
      { fingerprint: { plans: 'b' }, count: 2 },
      { fingerprint: { plans: 'a' }, count: 1 },
    ])
  })

  t.test('counts connections with few rights, and reports standbys as unknown', async (t) => {
    const url = await cluster.createDatabase(t)
    const administrator = await connected(t, url)
    await administrator.query('create role limited login; grant select on process to limited')
    const humble = new URL(url)
    humble.username = 'limited'
    const left = async () => (await fetchDatabaseStatus(humble.href, clock)).connections.available
    const before = await left()
    await Promise.all([connected(t, url), connected(t, url), connected(t, url)])
    t.ok((await left()) <= before - 3, 'other users’ connections are counted')
    t.equal((await fetchDatabaseStatus(humble.href, clock)).standbys, null)
    await administrator.query(`revoke temporary on database ${new URL(url).pathname.slice(1)} from public`)
    t.equal((await fetchDatabaseStatus(humble.href, clock)).hasRoom, null, 'a role that may create no table cannot tell')
  })

  t.test('detects a pooler by its process id', async (t) => {
    const url = await cluster.createDatabase(t)
    t.equal((await fetchDatabaseStatus(url, clock)).isPooled, false)
    t.equal((await fetchDatabaseStatus(await startPooler(t, url), clock)).isPooled, true)
  })

  t.test('tells whether the database’s settings are durable', async (t) => {
    const url = await cluster.createDatabase(t)
    const name = new URL(url).pathname.slice(1)
    const administrator = await connected(t, url)
    for (const [setting, isDurable] of [
      ['off', false],
      ['local', true],
    ] as const) {
      await administrator.query(`alter database ${name} set synchronous_commit = ${setting}`)
      t.equal((await fetchDatabaseStatus(url, clock)).isDurable, isDurable, setting)
    }
  })

  t.test('reports a synchronous standby, and its loss', async (t) => {
    const url = await cluster.createDatabase(t)
    const local = await cluster.createDatabase(t)
    const administrator = await connected(t, url)
    await administrator.query(`alter database ${new URL(local).pathname.slice(1)} set synchronous_commit = local`)
    const standby = await cluster.startStandby()
    t.match(await becomes(url, ({ standbys }) => standbys?.synchronous === 1, 'the standby to be synchronous'), {
      standbys: { synchronous: 1, asynchronous: 0 },
      requiredStandbys: 1,
    })
    t.equal((await fetchDatabaseStatus(local, clock)).requiredStandbys, 0, 'not required with local commits')
    await standby.crash()
    t.match(await becomes(url, ({ standbys }) => standbys?.synchronous === 0, 'the standby to be lost'), {
      standbys: { synchronous: 0, asynchronous: 0 },
      requiredStandbys: 1,
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
      await waitUntil(
        async () => (await administrator.query('show synchronous_standby_names')).rows[0].synchronous_standby_names === names,
        'the setting',
      )
      t.equal((await fetchDatabaseStatus(url, clock)).requiredStandbys, waitsFor, names)
    }
  })
}
