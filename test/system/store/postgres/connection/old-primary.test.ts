/** An old primary that comes back after a promotion, and servers of another cluster: which are used, and what is reported. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import t from 'tap'
import { checkDatabase } from '../../../../../src/services/health/health-checks.ts'
import { confirmServer } from '../../../../../src/store/postgres/confirm-server.ts'
import { fetchDatabaseStatus } from '../../../../../src/store/postgres/cluster/database-status.ts'
import { Connections } from '../../../../../src/store/postgres/connection/connections.ts'
import { SeenDatabase } from '../../../../../src/store/postgres/connection/seen-database.ts'
import { prepareDatabase } from '../../../../../src/store/postgres/open.ts'
import { startPostgresServer } from '../../../../support/servers/postgres/postgres.ts'
import { createTemporaryFolder } from '../../../../support/temporary-folder.ts'
import { waitUntil } from '../../../../support/wait-until.ts'
import { openTestStore } from '../test-store.ts'
import { createClock } from '../../../../../src/system/clock.ts'

const clock = createClock({})
const portQuery = 'select inet_server_port() as port'
const toPort = (host: string) => [{ port: Number(host.split(':')[1]) }]

async function run(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  for (const statement of statements) await client.query(statement)
  await client.end()
}

t.test('of several hosts that accept writes the highest timeline is used, and none below one seen', async (t) => {
  const primary = await startPostgresServer(t, (url) => prepareDatabase({ url, clock }), { durable: true })
  if (primary === undefined) return
  const url = await primary.createDatabase(t)
  const standby = await primary.startStandby()
  const both = url.replace(primary.host, `${primary.host},${standby.host}`)
  const seenFile = join(createTemporaryFolder(t), 'seen-database.json')
  const store = await openTestStore(t, both, { seenFile })
  const installation = await store.openInstallation(null)
  t.ok(installation.secret)
  await waitUntil(() => readFileSync(seenFile, 'utf8').includes('"timeline":1'), 'the file to have the timeline')

  await primary.crash()
  await standby.promote()
  const seen = new SeenDatabase()
  const connections = new Connections({ url: both, max: 2, timeoutMs: 30_000, seen })
  t.teardown(() => connections.close())
  t.same((await connections.read(portQuery, [])).rows, toPort(standby.host))
  await waitUntil(() => readFileSync(seenFile, 'utf8').includes('"timeline":2'), 'the file to have the new timeline')

  await primary.startAsOldPrimary()
  t.match(await fetchDatabaseStatus(both, clock), { writableHosts: 2, oldPrimaryProtection: 'on' })
  t.match(
    checkDatabase(await fetchDatabaseStatus(both, clock)).find(({ what }) => what === 'primary'),
    {
      ok: false,
      detail: /two hosts accept writes/,
    },
  )
  for (const order of [both, url.replace(primary.host, `${standby.host},${primary.host}`)]) {
    const fresh = new Connections({ url: order, max: 2 })
    t.same((await fresh.read(portQuery, [])).rows, toPort(standby.host), 'a process that has used none takes the newer')
    await fresh.close()
  }

  // The new primary is lost, and only the old one is left.
  await standby.crash()
  const alone = new Connections({ url: both, max: 1, timeoutMs: 500, seen })
  t.teardown(() => alone.close())
  await t.rejects(alone.read(portQuery, []), { code: 'temporarily_unavailable' })
  const later = new SeenDatabase()
  later.load(seenFile)
  const restarted = new Connections({ url, max: 1, timeoutMs: 500, seen: later })
  t.teardown(() => restarted.close())
  await t.rejects(restarted.read(portQuery, []), { cause: { message: /old primary: it is on timeline 1, and timeline 2/ } })

  // An operator may go back to it.
  t.match((await confirmServer({ url, clock, file: join(createTemporaryFolder(t), 'seen.json') })).accepted, { timeline: 1 })
})

t.test('a session on an old primary ends as soon as a higher timeline is seen', async (t) => {
  const primary = await startPostgresServer(t, async () => {}, { durable: true })
  if (primary === undefined) return
  const url = await primary.createDatabase(t)
  const standby = await primary.startStandby()
  const both = url.replace(primary.host, `${primary.host},${standby.host}`)
  const connections = new Connections({ url: both, max: 2 })
  t.teardown(() => connections.close())
  t.same((await connections.read(portQuery, [])).rows, toPort(primary.host))
  await standby.promote()
  await waitUntil(async () => (await connections.countWritableHosts()) === 2, 'the standby to accept writes')
  t.same((await connections.read(portQuery, [])).rows, toPort(standby.host))
})

t.test('another cluster is refused until it is accepted, at the start and by a running process', async (t) => {
  const server = await startPostgresServer(t, (url) => prepareDatabase({ url, clock }))
  if (server === undefined) return
  const folder = createTemporaryFolder(t)
  const seenFile = join(folder, 'seen-database.json')
  // As a dump of another cluster has it, and a node that used that one.
  const other = '7000000000000000001'
  const copy = await server.createDatabase(t)
  await run(copy, `insert into installation (secret_proof, system_identifier, timeline) values ('', '${other}', 3)`)
  await t.rejects(openTestStore(t, copy, {}), { message: /refused.*svc-gateway store accept/ }, 'a node that knows nothing')
  const seen = new SeenDatabase()
  seen.replace({ systemIdentifier: other, timeline: 2 })
  await seen.save(seenFile)
  await t.rejects(openTestStore(t, copy, { seenFile }), { message: /svc-gateway store accept/ }, 'a node that knows the other')
  const running = new Connections({ url: copy, max: 1, timeoutMs: 200, seen })
  t.teardown(() => running.close())
  await t.rejects(running.read('select 1', []), { code: 'temporarily_unavailable' })

  t.match(await confirmServer({ url: copy, clock, file: join(folder, 'elsewhere.json') }), { replaced: [`${other}:3`] })
  t.same((await running.read('select 1 as one', [])).rows, [{ one: 1 }], 'a process that runs goes on')
  await openTestStore(t, copy, { seenFile })
  t.match(await confirmServer({ url: copy, clock, file: seenFile }), { replaced: [] }, 'once is enough')
})

t.test('a server that hides its timeline is used, and doctor reports that the protection is off', async (t) => {
  const server = await startPostgresServer(t, async () => {})
  if (server === undefined) return
  const url = await server.createDatabase(t)
  await run(url, 'create role guest login', 'revoke execute on function pg_control_system() from public')
  const guest = new URL(url)
  guest.username = 'guest'
  const status = await fetchDatabaseStatus(guest.href, clock)
  t.equal(status.oldPrimaryProtection, 'hidden')
  t.match(
    checkDatabase(status).find(({ what }) => what === 'primary'),
    { ok: true, detail: /protection .* is off/ },
  )
})
