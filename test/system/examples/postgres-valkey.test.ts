/** `examples/postgres-valkey`: two nodes of it, with a real PostgreSQL and a real Valkey or Redis. */
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../../src/config/config.ts'
import { checkoutRoot, startServerProcess } from '../../support/processes/server-process.ts'
import { startPostgresServer } from '../../support/servers/postgres/postgres.ts'
import { startValkey } from '../../support/servers/valkey.ts'

const file = join(checkoutRoot, 'examples/postgres-valkey/shared.config.ts')

t.test('the example changes the retention and the notice of a stop', async (t) => {
  const { store, timeouts } = await loadConfig(file)
  t.equal(store.keepTurnsForDays, 30)
  t.equal(timeouts.drainNoticeMs, 10_000)
})

t.test('two nodes share accounts, the ledger and the rate limit', async (t) => {
  const postgres = await startPostgresServer(t, async () => {})
  const valkey = postgres && (await startValkey(t))
  if (postgres === undefined || valkey === undefined) return
  const environment = {
    GATEWAY_CONFIG: file,
    STORE_URL: await postgres.createDatabase(t, { empty: true }),
    LIMITS_URL: valkey.url,
    SMTP_URL: 'smtp://127.0.0.1:9',
  }
  const nodes = await Promise.all(
    ['one', 'two'].map((name) => startServerProcess(t, { ...environment, DATA_DIR: join(t.testdirName, name) })),
  )
  t.teardown(() => Promise.all(nodes.map((node) => node.terminate('SIGKILL'))))
  for (const node of nodes) t.not(node.url, '', node.log())
  const key = /svc_live_\w+/.exec(nodes.map((node) => node.output()).join('\n'))?.[0] ?? ''
  for (const { url } of nodes) {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    await response.arrayBuffer()
    t.equal(response.status, 200)
  }
  const usage = await valkey.client.keys('svc:l:*')
  t.ok(usage.length > 0, 'Valkey counts the requests')
  const [turns] = await queryCount(environment.STORE_URL)
  t.equal(Number(turns?.['count']), 2, 'both turns are in one ledger')
})

async function queryCount(url: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(`select count(*) from turn where state = 'settled'`)).rows
  } finally {
    await client.end()
  }
}
