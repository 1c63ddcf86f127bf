/** Lost connections, failovers, and conflicting transactions. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { Client } from 'pg'
import t from 'tap'
import type { Test } from 'tap'
import type { ConnectionsOptions } from '../../../../../src/store/postgres/connection/connections.ts'
import { Connections } from '../../../../../src/store/postgres/connection/connections.ts'
import { GatewayError } from '../../../../../src/errors.ts'
import { findFreePort } from '../../../../support/free-port.ts'
import { waitUntil } from '../../../../support/gateway/test-gateway.ts'
import { startPooler } from '../../../../support/servers/postgres/postgres-pooler.ts'
import { startPostgresServer } from '../../../../support/servers/postgres/postgres.ts'

const serializable = 'begin isolation level serializable'

const cluster = await startPostgresServer(t, async (url) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('create table seat (number bigint primary key, taken bigint not null)')
  await client.end()
})

function connect(t: Test, url: string, options: Partial<ConnectionsOptions> = {}): Connections {
  const connections = new Connections({ url, max: 4, statementTimeoutMs: 30_000, ...options })
  t.teardown(() => connections.close())
  return connections
}

if (cluster !== undefined) {
  t.test('whole numbers are numbers, and none is ever rounded', async (t) => {
    const connections = connect(t, await cluster.createDatabase(t))
    const { rows } = await connections.read(
      'select 9007199254740991::bigint as most, sum(2::bigint) as total, count(*) as rows',
      [],
    )
    t.same(rows, [{ most: Number.MAX_SAFE_INTEGER, total: 2, rows: 1 }])
    await t.rejects(connections.read('select 9007199254740992::bigint as more', []), RangeError)
    t.same((await connections.read('select 1 as one', [])).rows, [{ one: 1 }], 'and the next one is answered')
  })

  t.test('applies settings to the session, or behind a pooler to each transaction, and leaves none behind', async (t) => {
    const url = await cluster.createDatabase(t)
    const settings = { enable_seqscan: 'off' }
    const pending = `select current_setting('enable_seqscan') as planned, current_setting('statement_timeout') as most`
    const [own, usual] = [
      { planned: 'off', most: '2s' },
      { planned: 'on', most: '0' },
    ]
    for (const [at, between] of [
      [url, own],
      [await startPooler(t, url), usual],
    ] as const) {
      const connections = connect(t, at, { max: 1, statementTimeoutMs: 2_000, settings })
      t.same((await connections.read(pending, [])).rows, [own], 'a read')
      t.equal(connections.isPooled, at !== url)
      t.same((await connections.write(serializable, pending, [])).rows, [own], 'a transaction of one statement')
      const client = await connections.acquire()
      await connections.begin(client)
      t.same((await client.query(pending)).rows, [own], 'one of several')
      await client.query('commit')
      t.same((await client.query(pending)).rows, [between], 'the settings between transactions')
      await t.rejects(connections.runAlone(client, { text: 'select 1 / 0' }), /division by zero/)
      t.same((await connections.runAlone(client, { text: pending })).rows, [own], 'also after a failure')
      connections.release(client)
    }
  })

  t.test('repeats conflicting transactions until each has succeeded', async (t) => {
    const connections = connect(t, await cluster.createDatabase(t))
    // At most 3 seats: each transaction counts all rows and writes one of its own after a pause. Without the pause they would run one after another on a busy machine.
    for (let round = 0; round < 10 && connections.stats.retries === 0; round += 1) {
      await connections.write(serializable, 'delete from seat', [])
      const taken = await Promise.all(
        Array.from({ length: 12 }, (_, number) =>
          connections.write(
            serializable,
            'insert into seat (number, taken) select $1, 1 where (select count(*) from seat) < 3 and pg_sleep(0.03) is not null returning number',
            [number],
          ),
        ),
      )
      t.equal(taken.filter(({ rowCount }) => rowCount === 1).length, 3)
    }
    t.ok(connections.stats.retries > 0, 'there were conflicts')
  })

  t.test('keeps the connection of a failed statement, and rolls the statement back', async (t) => {
    const connections = connect(t, await cluster.createDatabase(t), { max: 1 })
    const pid = async () => (await connections.read('select pg_backend_pid() as pid', [])).rows[0]
    const before = await pid()
    await connections.write(serializable, 'insert into seat values (1, 1)', [])
    await t.rejects(connections.write(serializable, 'insert into seat values (2, 2), (1, 1)', []), { code: '23505' })
    await t.rejects(connections.write(serializable, 'insert into nowhere values (1)', []), { code: '42P01' })
    t.same((await connections.read('select number from seat', [])).rows, [{ number: 1 }])
    t.same(await pid(), before)
  })

  t.test('repeats a read on a new connection after a loss, and returns a retryable error for a write', async (t) => {
    const url = await cluster.createDatabase(t)
    const connections = connect(t, url, { max: 1 })
    const other = new Client({ connectionString: url })
    await other.connect()
    t.teardown(() => other.end())
    const cut = async () => {
      const { rows } = await connections.read('select pg_backend_pid() as pid', [])
      return () => other.query('select pg_terminate_backend($1)', [rows[0].pid])
    }
    const pending = connections.read('select pg_sleep(0.5) as slept', [])
    const sleeping = `select pg_terminate_backend(pid) from pg_stat_activity where query like '%as slept' and state = 'active'`
    for (let cuts = 0; cuts < 3; cuts += 1)
      await waitUntil(async () => (await other.query(sleeping)).rowCount === 1, 'the query to be repeated')
    t.equal((await pending).rowCount, 1, 'repeatedly')
    const write = await cut()
    const written = t.rejects(connections.write(serializable, 'select pg_sleep(1)', []), { code: 'temporarily_unavailable' })
    await write()
    await written
    t.equal((await connections.write(serializable, 'insert into seat values (1, 1)', [])).rowCount, 1)
  })

  t.test('switches to the next host if a server is gone or accepts no writes', async (t) => {
    const second = await startPostgresServer(t, async () => undefined)
    if (second === undefined) return
    const only = new Client({ connectionString: `postgres://postgres@${second.host}/postgres` })
    await only.connect()
    await only.query('alter database postgres set default_transaction_read_only = on')
    await only.end()
    const hosts = [`127.0.0.1:${await findFreePort()}`, second.host, cluster.host]
    const connections = connect(t, `postgres://postgres@${hosts.join(',')}/postgres`)
    t.match((await connections.read('show transaction_read_only', [])).rows, [{ transaction_read_only: 'off' }])
    t.same((await connections.read('select inet_server_port() as port', [])).rows, [{ port: Number(cluster.host.split(':')[1]) }])
  })

  t.test('switches to the next host if a server does not respond, even with a short timeout', async (t) => {
    const silent = createServer((socket) => void socket.on('error', () => undefined))
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const url = await cluster.createDatabase(t)
    const { host } = new URL(url)
    const { port } = silent.address() as AddressInfo
    const connections = connect(t, url.replace(host, `127.0.0.1:${port},${host}`), { max: 1, timeoutMs: 100 })
    t.teardown(() => silent.close())
    t.same((await connections.read('select 1 as one', [])).rows, [{ one: 1 }])
  })

  t.test('matches nothing and does not fail for a text with a NUL character', async (t) => {
    const connections = connect(t, await cluster.createDatabase(t))
    t.same((await connections.read('select $1::text as said', ['a\0b'])).rows, [{ said: 'a\uFFFDb' }])
    t.same((await connections.write(serializable, 'select $1::text as said', ['\0'])).rows, [{ said: '\uFFFD' }])
  })

  t.test('waits for a server that returns, and reports one that does not', async (t) => {
    const url = await cluster.createDatabase(t)
    const connections = connect(t, url, { timeoutMs: 10_000 })
    await connections.read('select 1', [])
    await cluster.crash()
    await t.rejects(connect(t, url, { timeoutMs: 50 }).read('select 1', []), { code: 'temporarily_unavailable' })
    const pending = connections.read('select 1 as one', [])
    await cluster.start()
    t.same((await pending).rows, [{ one: 1 }])
  })

  t.test('refuses queries after closing at once', async (t) => {
    const connections = new Connections({ url: await cluster.createDatabase(t), max: 1 })
    await connections.read('select 1', [])
    const closed = connections.close()
    await t.rejects(connections.write(serializable, 'select 1', []), GatewayError)
    await closed
    await t.rejects(connections.read('select 1', []), GatewayError)
  })
}
