/** Shutting down: no new turns, running ones finish, the rest are told and refunded, and no connection is torn. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { openForReading } from '../../src/store/sqlite/connection.ts'
import { atOnceMs, startGateway, temporaryFolder, until } from '../support/gateway.ts'
import { keptCompiled } from '../support/bare-program.ts'
import { checkout, startServer } from '../support/server.ts'

const hasScript = spawnSync('script', ['--version']).status === 0

const ended = /data: \[DONE\]\n\n$/

t.test('streams within the drain time finish; those beyond it end with an error and a refund', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  const ask = (betweenMs: number) =>
    g.chat(token, { stream: true, messages: [{ role: 'user', content: `demo:${JSON.stringify({ tokens: 20, betweenMs })}` }] })
  const quick = await Promise.all(Array.from({ length: 8 }, () => ask(30)))
  const slow = await Promise.all(Array.from({ length: 4 }, () => ask(1_000)))
  const ready = await fetch(`${g.url}/readyz`)
  t.equal(ready.status, 200)
  await ready.text()
  const from = performance.now()
  const closing = g.gateway.close({ drainMs: 2_000 })
  const texts = await Promise.all(quick.map((response) => response.text()))
  t.ok(
    texts.every((text) => ended.test(text) && !text.includes('"ok":false')),
    'all quick ones are whole',
  )
  for (const response of slow) {
    const text = await response.text()
    t.match(text, ended)
    t.match(text, /"ok":false.*restarting.*"quotaRefunded":true/)
  }
  await closing
  const took = performance.now() - from
  t.ok(took >= 1_900 && took <= 2_000 + atOnceMs, `${Math.round(took)} ms`)
  await t.rejects(fetch(`${g.url}/healthz`), 'nobody listens any more')
})

t.test('a whole answer goes on when its client has left, and is waited for and paid', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  g.demo.script(() => ({ tokens: 200, headMs: 1_500, betweenMs: 0 }))
  const leaving = new AbortController()
  const reached = g.demo.next()
  const asked = g.chat(token, {}, { signal: leaving.signal }).catch(() => undefined)
  await reached
  leaving.abort()
  await asked
  await g.gateway.close({ drainMs: 20_000 })
  const db = openForReading(join(g.config.store.dataDir, 'gateway.db'), 1_000)
  t.teardown(() => db.close())
  t.match(db.prepare('select state, output_tokens from turn').all(), [{ state: 'settled', output_tokens: 200 }])
})

t.test('nothing running: it is over at once', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  await (await g.chat(token)).text()
  const from = performance.now()
  await g.gateway.close({ drainMs: 30_000 })
  t.ok(performance.now() - from < atOnceMs)
})

t.test('told to end as it says that it listens, it ends as it should', async (t) => {
  // A signal sent to oneself arrives before the call returns: nobody can be quicker than this.
  const quickest = `const write = process.stdout.write
    process.stdout.write = function (text) {
      if (String(text).includes('listens on')) process.kill(process.pid, 'SIGTERM')
      return write.call(this, text)
    }`
  const server = await startServer(t, {
    DATA_DIR: temporaryFolder(t),
    LOG_LEVEL: 'silent',
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(quickest)}`,
  })
  const { child } = server
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  t.equal(child.exitCode, 0)
})

t.test('a terminal that goes is nothing to a server without one, as under nohup', async (t) => {
  const server = await startServer(t, { DATA_DIR: temporaryFolder(t) })
  server.child.kill('SIGHUP')
  // What nobody hears ends the process at once.
  t.equal((await fetch(`${server.url}/readyz`)).status, 200)
  t.equal(await server.end('SIGTERM'), 0)
})

t.test('a server whose terminal goes ends as it should', { skip: !hasScript && 'needs script (util-linux)' }, async (t) => {
  const folder = temporaryFolder(t)
  const logFile = join(folder, 'log')
  const command = `exec ${process.execPath} ${join(checkout, 'src/main.ts')} 2> ${logFile}`
  const terminal = spawn('script', ['--quiet', '--command', command, '/dev/null'], {
    env: { PATH: process.env['PATH'] ?? '', HOST: '127.0.0.1', PORT: '0', WORKERS: '1', ...keptCompiled, DATA_DIR: folder },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const log = (): string => (existsSync(logFile) ? readFileSync(logFile, 'utf8') : '')
  await until(() => log().includes('"listening"'), 'the server to start')
  terminal.kill('SIGKILL')
  await until(() => log().includes('"stopped"'), 'it to have ended in order')
  t.match(log(), '"signal":"SIGHUP"')
})

t.test('while it drains it says so, on kept connections and on new ones, and tells each to go', async (t) => {
  // As it is shipped: so long it takes new connections, and all that is asked meanwhile must be asked by then.
  const g = await startGateway(t, { timeouts: { noticeMs: 2_000 } })
  const { token } = await g.member()
  // Longer than that.
  const running = await g.chat(token, {
    stream: true,
    messages: [{ role: 'user', content: 'demo:{"tokens":40,"betweenMs":60}' }],
  })
  const { hostname, port, host } = new URL(g.url)
  const socket = connect({ host: hostname, port: Number(port) })
  t.teardown(() => socket.destroy())
  let heard = ''
  socket.on('data', (chunk: Buffer) => (heard += chunk.toString()))
  socket.on('error', (error) => t.fail(`the connection was torn: ${error.message}`))
  const ask = () => socket.write(`GET /readyz HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  ask()
  await until(() => /^HTTP\/1\.1 200[^]*\}$/.test(heard), 'the first answer')
  heard = ''
  const closing = g.gateway.close({ drainMs: 60_000 })
  ask()
  await until(() => heard.includes('draining'), 'the second answer')
  t.match(heard, /^HTTP\/1\.1 503/)
  t.match(heard, /connection: close/i)
  const other = await fetch(`${g.url}/readyz`)
  t.equal(other.status, 503, 'a new connection is told as well')
  t.match(await other.json(), { ok: false, reasons: ['draining'] })
  t.equal((await fetch(`${g.url}/healthz`)).status, 200, 'and it lives')
  t.match(await running.text(), ended)
  const from = performance.now()
  await closing
  t.ok(
    performance.now() - from < atOnceMs,
    'it ends with the last turn, not with the time that its clients keep their connections',
  )
})
