/** kill -9 under load, repeatedly: the ledger is consistent each time, no acknowledged turn is lost, and no hold outlives its process. */
import { join } from 'node:path'
import t from 'tap'
import { startFakeUpstream } from '../../../support/upstream/server.ts'
import { openForReading } from '../../../../src/store/sqlite/connection/connection.ts'
import { verifyDatabaseFile } from '../../../../src/store/sqlite/maintenance/ledger-snapshot.ts'
import { createTemporaryFolder, waitUntil } from '../../../support/gateway/test-gateway.ts'
import { writeTestConfig, startServerProcess } from '../../../support/processes/server-process.ts'

const killCount = 4
const concurrentTurns = 64

t.test('recovers from kills under 64 concurrent turns', async (t) => {
  const upstream = await startFakeUpstream({ maxCalls: 50_000 })
  t.teardown(() => upstream.close())
  let nth = 0
  // Some fast, some slow, some failing: at each kill there are turns in every state.
  upstream.script(
    () =>
      [
        { tokens: 3 },
        { tokens: 20, betweenMs: 10 },
        { status: 500 },
        { headMs: 50, tokens: 2 },
        { tokens: 5, betweenMs: 5, reset: { afterEvents: 4 } },
      ][nth++ % 5],
  )
  const folder = createTemporaryFolder(t)
  const file = join(folder, 'gateway.db')
  const environment = {
    DATA_DIR: folder,
    UPSTREAM_BASE_URL: upstream.url,
    UPSTREAM_MODEL_FLAGSHIP: 'demo-flagship',
    LOG_LEVEL: 'error',
    GATEWAY_CONFIG: writeTestConfig(
      folder,
      '{ ...base, limits: { addressRpm: 1_000_000 }, plans: { ...base.plans, max: { ...base.plans.max, rpm: 1_000_000, concurrency: 1_000 } } }',
    ),
  }
  let token = ''
  const told = new Map<string, 'settled' | 'refunded'>()

  for (let kill = 0; kill < killCount; kill++) {
    const from = performance.now()
    const server = await startServerProcess(t, environment)
    t.ok(server.url, `start ${kill} in ${Math.round(performance.now() - from)} ms`)
    token ||= /svc_live_\w+/.exec(server.output())?.[0] ?? ''
    t.equal(verifyDatabaseFile(file).holdsOpen, 0, 'what the dead process held was given back at start')

    const killed = new AbortController()
    const before = told.size
    const member = async (): Promise<void> => {
      while (!killed.signal.aborted) {
        try {
          const response = await fetch(`${server.url}/v1/chat/completions`, {
            method: 'POST',
            headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
            body: JSON.stringify({
              model: 'svc-2.1',
              stream: nth % 2 === 0,
              max_tokens: 50,
              messages: [{ role: 'user', content: 'Hello!' }],
            }),
          })
          const text = await response.text()
          const id = response.headers.get('x-request-id') ?? ''
          if (text.includes('"quotaRefunded":true')) told.set(id, 'refunded')
          else if (response.status === 200 && (text.endsWith('[DONE]\n\n') || text.startsWith('{"id"'))) told.set(id, 'settled')
        } catch {
          if (!killed.signal.aborted) await new Promise((resolve) => setImmediate(resolve))
        }
      }
    }
    const members = Array.from({ length: concurrentTurns }, member)
    // During the load, also where a busy machine takes seconds; at a different moment each time, deterministically.
    await waitUntil(() => told.size >= concurrentTurns / 4 + before, `some endings before kill ${kill}`)
    await new Promise((resolve) => setTimeout(resolve, 150 + ((kill * 123) % 400)))
    killed.abort()
    await server.terminate('SIGKILL')
    await Promise.all(members)

    const { mismatches } = verifyDatabaseFile(file)
    t.same(mismatches, [], `the books after kill ${kill}`)
  }

  const last = await startServerProcess(t, environment)
  t.equal(await last.terminate('SIGTERM'), 0)
  const { ok, holdsOpen, turns } = verifyDatabaseFile(file)
  t.same({ ok, holdsOpen }, { ok: true, holdsOpen: 0 })
  t.ok(turns > (killCount * concurrentTurns) / 4, `${turns} turns in all`)

  const db = openForReading(file, 1_000)
  const rows = db.prepare('select request_id as id, state from turn').all() as { id: string; state: string }[]
  db.close()
  const states = new Map(rows.map(({ id, state }) => [id, state]))
  const lost = [...told].filter(([id, state]) => states.get(id) !== state)
  t.same(lost, [], `all ${told.size} endings that a client was told are in the books`)
  const unheld = upstream.calls.filter(({ id, path }) => path.endsWith('/chat/completions') && !states.has(id ?? ''))
  t.equal(unheld.length, 0, 'no call reached the upstream without a hold in the books')
  t.ok(
    rows.some(({ state }) => state === 'expired'),
    'and some were cut off in the middle',
  )
})
