/** An answered turn is paid for, and a failed one is not, whatever the disk does: what cannot be written now is owed until it is. */
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { startDemoUpstream } from '../../src/upstream/demo/upstream.ts'
import { openForReading } from '../../src/store/sqlite/connection.ts'
import { readJournal } from '../../src/store/sqlite/owed-journal.ts'
import { verifyFile } from '../../src/store/sqlite/verify-file.ts'
import { startGateway, temporaryFolder, until } from '../support/gateway.ts'
import { startServer } from '../support/server.ts'

const slowly = (script: object) => ({
  stream: true,
  messages: [{ role: 'user', content: `demo:${JSON.stringify({ betweenMs: 20, ...script })}` }],
})

t.test('another process keeps the database locked for longer than anybody waits', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  const ask = (script: object) => g.chat(token, slowly(script))
  const answered = await Promise.all(Array.from({ length: 10 }, () => ask({ tokens: 30 })))
  const failed = await ask({ tokens: 30, reset: { afterEvents: 20 } })
  const other = new Database(join(g.config.store.dataDir, 'gateway.db'))
  t.teardown(() => other.close())
  other.exec('begin immediate')
  for (const response of answered) t.match(await response.text(), /data: \[DONE\]\n\n$/, 'the answer does not wait for the lock')
  t.match(await failed.text(), /"quotaRefunded":true/, 'what is told is in the journal')

  await until(() => !g.services.ledger.vitals().writable, 'the writer to have given up')
  const ready = await fetch(`${g.url}/readyz`)
  t.equal(ready.status, 503)
  t.match(((await ready.json()) as { reasons: string[] }).reasons, [
    /cannot be written/,
    /^11 settlements are owed to the ledger since \d{4}-.*Z$/,
  ])
  t.match(await g.services.observe.metricsText(), /^svc_ledger_owed 11$[^]*^svc_ledger_owed_seconds \d/m)
  other.exec('rollback')
  await until(() => g.services.ledger.vitals().owed === 0, 'what is owed to be paid')
  t.equal((await fetch(`${g.url}/readyz`)).status, 200)
  const states = (await g.turns()).map(({ state, outputTokens }) => `${state} ${outputTokens}`)
  t.same(states.toSorted(), ['refunded 0', ...Array<string>(10).fill('settled 30')])
  t.ok(
    g.log.some((line) => line.includes('settlements are owed')) && g.log.some((line) => line.includes('has taken what was owed')),
  )
})

// A disk of its own, of a few megabytes, in a mount namespace that outlives the server: only root can make one.
const canMount = process.platform === 'linux' && spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0

t.test(
  'the disk is full, the server is killed, and starts again when there is room',
  { skip: !canMount && process.env['CI'] !== 'true' && 'needs root and Linux to make a small disk' },
  async (t) => {
    const upstream = await startDemoUpstream({ scripted: true })
    t.teardown(() => upstream.close())
    const folder = temporaryFolder(t)
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
    const start = () => startServer(t, environment, ['nsenter', '-t', String(holder.pid), '-m', '--'])
    const server = await start()
    const token = /svc_live_\w+/.exec(server.output())?.[0] ?? ''
    const ask = async (script: object) => {
      const response = await fetch(`${server.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'svc-2.1', ...slowly(script) }),
      })
      return { id: response.headers.get('x-request-id') ?? '', status: response.status, text: await response.text() }
    }
    const long = { tokens: 60, betweenMs: 100 }
    const turns = Array.from({ length: 6 }, () => ask(long))
    const broken = ask({ ...long, reset: { afterEvents: 50 } })
    await until(() => upstream.stats().requests >= 7, 'all to be running')
    t.throws(() => writeFileSync(join(disk, 'filler'), Buffer.alloc(16 * 1024 * 1024)), { code: 'ENOSPC' })
    // What the write-ahead log has room for may still be taken; the first turn that has none is refused.
    await until(async () => (await ask({ tokens: 1 })).status !== 200, 'the disk to be full')
    const [told, refunded] = await Promise.all([Promise.all(turns), broken])
    for (const { text } of told) t.match(text, /data: \[DONE\]\n\n$/)
    t.match(refunded.text, /"quotaRefunded":true/)
    t.match(await (await fetch(`${server.url}/readyz`)).json(), { ok: false })
    await server.end('SIGKILL')

    const kept = readdirSync(disk).find((name) => name.includes('.owed-')) ?? ''
    t.equal(readJournal(join(disk, kept)).length, 7, 'the journal had its room')
    rmSync(join(disk, 'filler'))
    const next = await start()
    t.ok(next.url, next.log())
    t.equal(await next.end('SIGTERM'), 0)
    const copy = temporaryFolder(t)
    for (const file of readdirSync(disk).filter((name) => /^gateway\.db(-wal)?$/.test(name)))
      cpSync(join(disk, file), join(copy, file))
    t.match(verifyFile(join(copy, 'gateway.db')), { ok: true, holdsOpen: 0 })
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
