/** The demo upstream as a process of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import t from 'tap'

t.test('prints its URL, serves, and ends on a signal', async (t) => {
  const child = spawn(process.execPath, ['test/support/upstream/main.ts', '--scripted', '--bench-tokens', '2'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string]
  t.match(url, /^http:\/\/127\.0\.0\.1:\d+\/v1$/)
  const messages = [{ role: 'user', content: 'demo:{"status":503}' }]
  const ask = (model: string) => fetch(`${url}/chat/completions`, { method: 'POST', body: JSON.stringify({ model, messages }) })
  t.equal((await ask('demo-light')).status, 503)
  t.match(await (await ask('demo-bench')).json(), { usage: { completion_tokens: 2 } })
  child.kill('SIGTERM')
  t.same(await once(child, 'exit'), [0, null])
})

t.test('refuses an option that is no number with a sentence', async (t) => {
  const child = spawn(process.execPath, ['test/support/upstream/main.ts', '--port', 'many'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let errors = ''
  child.stderr.on('data', (piece: Buffer) => (errors += piece.toString()))
  await once(child, 'close')
  t.equal(child.exitCode, 1)
  t.match(errors, '--port must be a whole number, not "many"')
})
