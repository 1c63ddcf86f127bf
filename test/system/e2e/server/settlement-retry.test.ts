/** An answered turn is charged and a failed one is not, whatever the disk does: a settlement that cannot be written stays pending until it is. */
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { startFakeUpstream } from '../../../support/upstream/server.ts'
import { openForReading } from '../../../../src/store/sqlite/connection/connection.ts'
import { readJournal } from '../../../../src/store/sqlite/process/settlement-journal.ts'
import { verifyDatabaseFile } from '../../../../src/store/sqlite/maintenance/ledger-snapshot.ts'
import { startGateway, createTemporaryFolder, waitUntil } from '../../../support/gateway/test-gateway.ts'
import { startServerProcess } from '../../../support/processes/server-process.ts'

const createSlowScript = (script: object) => ({
  stream: true,
  messages: [{ role: 'user', content: `demo:${JSON.stringify({ betweenMs: 20, ...script })}` }],
})

t.test('settles after another process has locked the database for longer than any timeout', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  const ask = (script: object) => g.chat(token, createSlowScript(script))
  const answered = await Promise.all(Array.from({ length: 10 }, () => ask({ tokens: 30 })))
  const failed = await ask({ tokens: 30, reset: { afterEvents: 20 } })
  const other = new Database(join(g.config.store.dataDir, 'gateway.db'))
  t.teardown(() => other.close())
  other.exec('begin immediate')
  for (const response of answered) t.match(await response.text(), /data: \[DONE\]\n\n$/, 'the answer does not wait for the lock')
  t.match(await failed.text(), /"quotaRefunded":true/, 'what is told is in the journal')

  await waitUntil(() => !g.services.ledger.stats().writable, 'the writer to have given up')
  const ready = await fetch(`${g.url}/readyz`)
  t.equal(ready.status, 503)
  t.match(((await ready.json()) as { reasons: string[] }).reasons, [
    /cannot be written/,
    /^11 settlements have been pending since \d{4}-.*Z$/,
  ])
  t.match(
    await g.services.telemetry.metricsText(),
    /^svc_ledger_pending_settlements 11$[^]*^svc_ledger_oldest_pending_settlement_seconds \d/m,
  )
  other.exec('rollback')
  await waitUntil(() => g.services.ledger.stats().pendingSettlements === 0, 'what is owed to be paid')
  t.equal((await fetch(`${g.url}/readyz`)).status, 200)
  const states = (await g.listTurns()).map(({ state, outputTokens }) => `${state} ${outputTokens}`)
  t.same(states.toSorted(), ['refunded 0', ...Array<string>(10).fill('settled 30')])
  t.ok(
    g.log.some((line) => line.includes('settlements are pending')) &&
      g.log.some((line) => line.includes('pending settlements were written')),
  )
})

// A disk of its own of a few megabytes, in a mount namespace that outlives the server; only root can create one.
const canMount = process.platform === 'linux' && spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0

t.test(
  'settles after the disk was full, the server was killed, and it started again with room',
  { skip: !canMount && process.env['CI'] !== 'true' && 'needs root and Linux to make a small disk' },
  async (t) => {
    const upstream = await startFakeUpstream({ scripted: true })
    t.teardown(() => upstream.close())
    const folder = createTemporaryFolder(t)
    const holder = spawn('unshare', [
      '-m',
      'sh',
      '-c',
      `mount -t tmpfs -o size=6m none ${folder} && echo ready && exec sleep 1000`,
    ])
    t.teardown(() => void holder.kill('SIGKILL'))
    await new Promise((resolve) => holder.stdout.once('data', resolve))
    const disk = `/proc/${holder.pid}/root${folder}`
    const environment = {
      DATA_DIR: folder,
      UPSTREAM_BASE_URL: upstream.url,
      UPSTREAM_MODEL_FLAGSHIP: 'demo-flagship',
      LOG_LEVEL: 'error',
    }
    const start = () => startServerProcess(t, environment, ['nsenter', '-t', String(holder.pid), '-m', '--'])
    const server = await start()
    const token = /svc_live_\w+/.exec(server.output())?.[0] ?? ''
    const ask = async (script: object) => {
      const response = await fetch(`${server.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'svc-2.1', ...createSlowScript(script) }),
      })
      return { id: response.headers.get('x-request-id') ?? '', status: response.status, text: await response.text() }
    }
    const long = { tokens: 60, betweenMs: 100 }
    const turns = Array.from({ length: 6 }, () => ask(long))
    const broken = ask({ ...long, reset: { afterEvents: 50 } })
    await waitUntil(() => upstream.stats().requests >= 7, 'all to be running')
    t.throws(() => writeFileSync(join(disk, 'filler'), Buffer.alloc(16 * 1024 * 1024)), { code: 'ENOSPC' })
    // What fits into the write-ahead log may still be accepted; the first turn that does not fit is refused.
    await waitUntil(async () => (await ask({ tokens: 1 })).status !== 200, 'the disk to be full')
    const [told, refunded] = await Promise.all([Promise.all(turns), broken])
    for (const { text } of told) t.match(text, /data: \[DONE\]\n\n$/)
    t.match(refunded.text, /"quotaRefunded":true/)
    t.match(await (await fetch(`${server.url}/readyz`)).json(), { ok: false })
    await server.terminate('SIGKILL')

    const kept = readdirSync(disk).find((name) => name.includes('.settlements-')) ?? ''
    t.equal(readJournal(join(disk, kept)).length, 7, 'the journal had its room')
    rmSync(join(disk, 'filler'))
    const next = await start()
    t.ok(next.url, next.log())
    t.equal(await next.terminate('SIGTERM'), 0)
    const copy = createTemporaryFolder(t)
    for (const file of readdirSync(disk).filter((name) => /^gateway\.db(-wal)?$/.test(name)))
      cpSync(join(disk, file), join(copy, file))
    t.match(verifyDatabaseFile(join(copy, 'gateway.db')), { ok: true, holdsOpen: 0 })
    const db = openForReading(join(copy, 'gateway.db'), 1_000)
    const rows = db.prepare('select request_id as id, state, output_tokens as tokens from turn').all() as {
      id: string
      state: string
      tokens: number
    }[]
    db.close()
    for (const { id } of told)
      t.match(
        rows.find((row) => row.id === id),
        { state: 'settled', tokens: 60 },
      )
    t.match(
      rows.find((row) => row.id === refunded.id),
      { state: 'refunded' },
    )
  },
)
