/** Connections that are lost, servers that change, transactions that meet. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { Client } from 'pg'
import t from 'tap'
import type { Test } from 'tap'
import type { ConnectionsOptions } from '../../../src/store/postgres/connections.ts'
import { Connections } from '../../../src/store/postgres/connections.ts'
import { GatewayError } from '../../../src/errors.ts'
import { freePort } from '../../support/free-port.ts'
import { until } from '../../support/gateway.ts'
import { behindPooler } from '../../support/pooler.ts'
import { clusterFor } from '../../support/postgres.ts'

const serializable = 'begin isolation level serializable'

const cluster = await clusterFor(t, async (url) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('create table seat (number bigint primary key, taken bigint not null)')
  await client.end()
})

function connect(t: Test, url: string, options: Partial<ConnectionsOptions> = {}): Connections {
  const connections = new Connections({ url, most: 4, ...options })
  t.teardown(() => connections.close())
  return connections
}

if (cluster !== undefined) {
  t.test('whole numbers are numbers, and none is ever rounded', async (t) => {
    const connections = connect(t, await cluster.database(t))
    const { rows } = await connections.read(
      'select 9007199254740991::bigint as most, sum(2::bigint) as total, count(*) as rows',
      [],
    )
    t.same(rows, [{ most: Number.MAX_SAFE_INTEGER, total: 2, rows: 1 }])
    await t.rejects(connections.read('select 9007199254740992::bigint as more', []), RangeError)
    t.same((await connections.read('select 1 as one', [])).rows, [{ one: 1 }], 'and the next one is answered')
  })

  t.test('settings are of the session, and behind a pooler of each transaction, and stay with nobody', async (t) => {
    const url = await cluster.database(t)
    const settings = { enable_seqscan: 'off' }
    const asked = `select current_setting('enable_seqscan') as planned, current_setting('statement_timeout') as most`
    const [own, usual] = [
      { planned: 'off', most: '2s' },
      { planned: 'on', most: '0' },
    ]
    for (const [at, between] of [
      [url, own],
      [await behindPooler(t, url), usual],
    ] as const) {
      const connections = connect(t, at, { most: 1, statementMs: 2_000, settings })
      t.same((await connections.read(asked, [])).rows, [own], 'a question')
      t.equal(connections.isPooled, at !== url)
      t.same((await connections.write(serializable, asked, [])).rows, [own], 'a transaction of one statement')
      const client = await connections.take()
      await connections.begin(client)
      t.same((await client.query(asked)).rows, [own], 'one of several')
      await client.query('commit')
      t.same((await client.query(asked)).rows, [between], 'and what others find')
      await t.rejects(connections.alone(client, { text: 'select 1 / 0' }), /division by zero/)
      t.same((await connections.alone(client, { text: asked })).rows, [own], 'also after a failure')
      connections.giveBack(client)
    }
  })

  t.test('transactions that come into each other’s way are done one after the other', async (t) => {
    const connections = connect(t, await cluster.database(t))
    // At most 3 seats: each looks at all rows, and after a while writes one of its own. Without the while they come one after another on a busy machine.
    for (let round = 0; round < 10 && connections.figures.repeated === 0; round += 1) {
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
    t.ok(connections.figures.repeated > 0, 'they did meet')
  })

  t.test('a statement that fails takes no connection along, and is undone', async (t) => {
    const connections = connect(t, await cluster.database(t), { most: 1 })
    const pid = async () => (await connections.read('select pg_backend_pid() as pid', [])).rows[0]
    const before = await pid()
    await connections.write(serializable, 'insert into seat values (1, 1)', [])
    await t.rejects(connections.write(serializable, 'insert into seat values (2, 2), (1, 1)', []), { code: '23505' })
    await t.rejects(connections.write(serializable, 'insert into nowhere values (1)', []), { code: '42P01' })
    t.same((await connections.read('select number from seat', [])).rows, [{ number: 1 }])
    t.same(await pid(), before)
  })

  t.test('a connection that is lost is replaced: what reads does not notice, what writes may be tried again', async (t) => {
    const url = await cluster.database(t)
    const connections = connect(t, url, { most: 1 })
    const other = new Client({ connectionString: url })
    await other.connect()
    t.teardown(() => other.end())
    const cut = async () => {
      const { rows } = await connections.read('select pg_backend_pid() as pid', [])
      return () => other.query('select pg_terminate_backend($1)', [rows[0].pid])
    }
    const asked = connections.read('select pg_sleep(0.5) as slept', [])
    const sleeping = `select pg_terminate_backend(pid) from pg_stat_activity where query like '%as slept' and state = 'active'`
    for (let cuts = 0; cuts < 3; cuts += 1)
      await until(async () => (await other.query(sleeping)).rowCount === 1, 'it to be asked again')
    t.equal((await asked).rowCount, 1, 'again and again')
    const write = await cut()
    const written = t.rejects(connections.write(serializable, 'select pg_sleep(1)', []), { code: 'temporarily_unavailable' })
    await write()
    await written
    t.equal((await connections.write(serializable, 'insert into seat values (1, 1)', [])).rowCount, 1)
  })

  t.test('a server that is gone, or takes no writes, is passed over for the next', async (t) => {
    const second = await clusterFor(t, async () => undefined)
    if (second === undefined) return
    const only = new Client({ connectionString: `postgres://postgres@${second.host}/postgres` })
    await only.connect()
    await only.query('alter database postgres set default_transaction_read_only = on')
    await only.end()
    const hosts = [`127.0.0.1:${await freePort()}`, second.host, cluster.host]
    const connections = connect(t, `postgres://postgres@${hosts.join(',')}/postgres`)
    t.match((await connections.read('show transaction_read_only', [])).rows, [{ transaction_read_only: 'off' }])
    t.same((await connections.read('select inet_server_port() as port', [])).rows, [{ port: Number(cluster.host.split(':')[1]) }])
  })

  t.test('a server that says nothing is passed over for the next, however little patience there is', async (t) => {
    const silent = createServer((socket) => void socket.on('error', () => undefined))
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const url = await cluster.database(t)
    const { host } = new URL(url)
    const { port } = silent.address() as AddressInfo
    const connections = connect(t, url.replace(host, `127.0.0.1:${port},${host}`), { most: 1, patienceMs: 100 })
    t.teardown(() => silent.close())
    t.same((await connections.read('select 1 as one', [])).rows, [{ one: 1 }])
  })

  t.test('a text with a NUL, which the server has none of, is nobody’s and fails nothing', async (t) => {
    const connections = connect(t, await cluster.database(t))
    t.same((await connections.read('select $1::text as said', ['a\0b'])).rows, [{ said: 'a\uFFFDb' }])
    t.same((await connections.write(serializable, 'select $1::text as said', ['\0'])).rows, [{ said: '\uFFFD' }])
  })

  t.test('a server that comes back is waited for, and one that does not is said to be away', async (t) => {
    const url = await cluster.database(t)
    const connections = connect(t, url, { patienceMs: 10_000 })
    await connections.read('select 1', [])
    await cluster.crash()
    await t.rejects(connect(t, url, { patienceMs: 50 }).read('select 1', []), { code: 'temporarily_unavailable' })
    const asked = connections.read('select 1 as one', [])
    await cluster.start()
    t.same((await asked).rows, [{ one: 1 }])
  })

  t.test('what is asked after the end fails at once, and the process goes on', async (t) => {
    const connections = new Connections({ url: await cluster.database(t), most: 1 })
    await connections.read('select 1', [])
    const closed = connections.close()
    await t.rejects(connections.write(serializable, 'select 1', []), GatewayError)
    await closed
    await t.rejects(connections.read('select 1', []), GatewayError)
  })
}
