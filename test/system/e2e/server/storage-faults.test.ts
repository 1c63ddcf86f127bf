/** Money fails closed: while the ledger cannot be written no upstream is called, and service resumes by itself afterwards. */
import { spawnSync } from 'node:child_process'
import { cpSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { startFakeUpstream } from '../../../support/upstream/server.ts'
import { verifyDatabaseFile } from '../../../../src/store/sqlite/maintenance/ledger-snapshot.ts'
import { expectErrorEnvelope } from '../../../support/gateway/error-envelope.ts'
import { startGateway, createTemporaryFolder, waitUntil } from '../../../support/gateway/test-gateway.ts'
import { startServerProcess } from '../../../support/processes/server-process.ts'

t.test('refuses turns while another process holds the database lock for longer than the timeout', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  await (await g.chat(token)).text()
  const before = g.demo.stats().requests
  const other = new Database(join(g.config.store.dataDir, 'gateway.db'))
  t.teardown(() => other.close())
  other.exec('begin immediate')
  const refused = await g.chat(token)
  await expectErrorEnvelope(t, refused, { status: 500, code: 'internal_error', stage: 'internal' }, 'while it is locked')
  t.equal(g.demo.stats().requests, before, 'no upstream call without a hold')
  const ready = await fetch(`${g.url}/readyz`)
  t.equal(ready.status, 503)
  t.match(await ready.json(), { reasons: ['the ledger cannot be written'] })
  t.equal((await fetch(`${g.url}/healthz`)).status, 200, 'it lives: to start it again would mend nothing')
  other.exec('rollback')
  await waitUntil(async () => {
    const response = await g.chat(token)
    await response.text()
    return response.status === 200
  }, 'it to go on by itself')
  t.equal((await fetch(`${g.url}/readyz`)).status, 200)
})

t.test('refuses turns while the data folder is missing, and resumes when it is back', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  const { dataDir } = g.config.store
  const calls = g.demo.stats().requests
  renameSync(dataDir, `${dataDir}-away`)
  t.teardown(() => rmSync(`${dataDir}-away`, { recursive: true, force: true }))
  await waitUntil(async () => (await fetch(`${g.url}/readyz`)).status === 503, 'it to be noticed')
  t.match(await (await fetch(`${g.url}/readyz`)).json(), { reasons: [/gateway\.db is gone: it was moved or deleted/] })
  const refused = await g.chat(token)
  await expectErrorEnvelope(t, refused, { status: 500, code: 'internal_error', stage: 'internal' }, 'while it is away')
  t.equal(g.demo.stats().requests, calls, 'nothing is sold')
  t.ok(g.log.some((line) => line.includes('new turns are refused') && line.includes('is gone')))
  renameSync(`${dataDir}-away`, dataDir)
  await waitUntil(async () => (await fetch(`${g.url}/readyz`)).status === 200, 'it to go on by itself')
  t.equal((await g.chat(token)).status, 200)
})

// A disk of its own of a few megabytes, in the server's mount namespace; only root can create one.
const canMount = process.platform === 'linux' && spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0

t.test(
  'refuses turns on a full disk and resumes with room',
  { skip: !canMount && process.env['CI'] !== 'true' && 'needs root and Linux to make a small disk' },
  async (t) => {
    const upstream = await startFakeUpstream()
    t.teardown(() => upstream.close())
    const folder = createTemporaryFolder(t)
    const server = await startServerProcess(
      t,
      { DATA_DIR: folder, UPSTREAM_BASE_URL: upstream.url, UPSTREAM_MODEL_FLAGSHIP: 'demo-flagship', LOG_LEVEL: 'silent' },
      ['unshare', '-m', 'sh', '-c', `mount -t tmpfs -o size=4m none ${folder} && exec "$@"`, 'sh'],
    )
    const token = /svc_live_\w+/.exec(server.output())?.[0] ?? ''
    // The server's own view of the folder, from outside of its namespace.
    const disk = `/proc/${server.child.pid}/root${folder}`
    const chat = () =>
      fetch(`${server.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'svc-2.1', messages: [{ role: 'user', content: 'Hello!' }] }),
      })
    const first = await chat()
    t.equal(first.status, 200)
    await first.text()

    t.throws(() => writeFileSync(join(disk, 'filler'), Buffer.alloc(8 * 1024 * 1024)), { code: 'ENOSPC' })
    let refused: Response | undefined
    // What fits into the write-ahead log may still be accepted; the first turn that does not fit is refused.
    await waitUntil(async () => {
      const response = await chat()
      if (response.status !== 200) refused = response
      else await response.text()
      return refused !== undefined
    }, 'the disk to be full')
    const before = upstream.stats().requests
    if (refused !== undefined) {
      t.equal(refused.headers.get('retry-after'), '30')
      await expectErrorEnvelope(t, refused, { status: 503, code: 'temporarily_unavailable' }, 'while it is full')
    }
    for (let i = 0; i < 3; i++) t.equal((await chat()).status, 503)
    t.equal(upstream.stats().requests, before, 'no upstream call without a hold')
    const ready = await fetch(`${server.url}/readyz`)
    t.equal(ready.status, 503)
    t.match(await ready.json(), { reasons: [/the disk of the database is full/] })

    rmSync(join(disk, 'filler'))
    await waitUntil(async () => {
      const response = await chat()
      await response.text()
      return response.status === 200
    }, 'it to go on by itself')
    // The database can be read only under a name of our own.
    const copy = createTemporaryFolder(t)
    for (const file of ['gateway.db', 'gateway.db-wal']) cpSync(join(disk, file), join(copy, file))
    t.same(verifyDatabaseFile(join(copy, 'gateway.db')).mismatches, [])
    t.equal(await server.terminate('SIGTERM'), 0)
  },
)
