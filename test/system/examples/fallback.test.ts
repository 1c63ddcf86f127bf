/** `examples/fallback` with a primary upstream that fails. */
import { join } from 'node:path'
import t from 'tap'
import { startFakeUpstream } from '../../support/upstream/server.ts'
import { checkoutRoot, startServerProcess } from '../../support/processes/server-process.ts'

t.test('the backup answers while the primary fails, and rests while the primary works', async (t) => {
  const primary = await startFakeUpstream()
  const backup = await startFakeUpstream()
  t.teardown(() => Promise.all([primary.close(), backup.close()]))
  const server = await startServerProcess(t, {
    GATEWAY_CONFIG: join(checkoutRoot, 'examples/fallback/fallback.config.ts'),
    PRIMARY_BASE_URL: primary.url,
    BACKUP_BASE_URL: backup.url,
    DATA_DIR: t.testdir(),
  })
  t.not(server.url, '', server.log())
  const key = /svc_live_\w+/.exec(server.output())?.[0] ?? ''
  const chat = async () => {
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc-2.1', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    await response.arrayBuffer()
    return response.status
  }
  const countChats = (upstream: typeof primary) => upstream.calls.filter(({ path }) => path.endsWith('/chat/completions')).length
  t.equal(await chat(), 200)
  t.equal(countChats(primary), 1)
  t.equal(countChats(backup), 0)
  primary.script(() => ({ status: 503 }))
  t.equal(await chat(), 200, 'the client does not notice')
  t.equal(countChats(primary), 2)
  t.equal(countChats(backup), 1)
})
