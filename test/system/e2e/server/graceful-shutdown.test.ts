/** Shutdown: no new turns, running ones finish, the rest get an error and a refund, and no connection is cut. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { openForReading } from '../../../../src/store/sqlite/connection/connection.ts'
import { maxImmediateMs, startGateway, createTemporaryFolder, waitUntil } from '../../../support/gateway/test-gateway.ts'
import { compileCacheEnvironment } from '../../../runner/clean-command.ts'
import { checkoutRoot, startServerProcess } from '../../../support/processes/server-process.ts'

const hasScript = spawnSync('script', ['--version']).status === 0

const completedStream = /data: \[DONE\]\n\n$/

t.test('finishes streams within the drain time and ends longer ones with an error and a refund', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
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
    texts.every((text) => completedStream.test(text) && !text.includes('"ok":false')),
    'all quick ones are whole',
  )
  for (const response of slow) {
    const text = await response.text()
    t.match(text, completedStream)
    t.match(text, /"ok":false.*restarting.*"quotaRefunded":true/)
  }
  await closing
  const took = performance.now() - from
  t.ok(took >= 1_900 && took <= 2_000 + maxImmediateMs, `${Math.round(took)} ms`)
  await t.rejects(fetch(`${g.url}/healthz`), 'the port is closed')
})

t.test('waits for and charges a whole answer whose client has disconnected', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
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

t.test('ends at once when nothing runs', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  await (await g.chat(token)).text()
  const from = performance.now()
  await g.gateway.close({ drainMs: 30_000 })
  t.ok(performance.now() - from < maxImmediateMs)
})

t.test('shuts down cleanly at a signal that arrives when it starts to listen', async (t) => {
  // A signal sent to oneself arrives before the call returns: none can be earlier.
  const quickest = `const write = process.stdout.write
    process.stdout.write = function (text) {
      if (String(text).includes('listens on')) process.kill(process.pid, 'SIGTERM')
      return write.call(this, text)
    }`
  const server = await startServerProcess(t, {
    DATA_DIR: createTemporaryFolder(t),
    LOG_LEVEL: 'silent',
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(quickest)}`,
  })
  const { child } = server
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  t.equal(child.exitCode, 0)
})

t.test('goes on at a hang-up where it has no terminal, as under nohup', async (t) => {
  const server = await startServerProcess(t, { DATA_DIR: createTemporaryFolder(t) })
  server.child.kill('SIGHUP')
  // A signal without a handler ends the process at once.
  t.equal((await fetch(`${server.url}/readyz`)).status, 200)
  t.equal(await server.terminate('SIGTERM'), 0)
})

t.test('shuts down cleanly when its terminal closes', { skip: !hasScript && 'needs script (util-linux)' }, async (t) => {
  const folder = createTemporaryFolder(t)
  const logFile = join(folder, 'log')
  const command = `exec ${process.execPath} ${join(checkoutRoot, 'src/operator/start.ts')} 2> ${logFile}`
  const terminal = spawn('script', ['--quiet', '--command', command, '/dev/null'], {
    env: {
      PATH: process.env['PATH'] ?? '',
      HOST: '127.0.0.1',
      PORT: '0',
      WORKERS: '1',
      ...compileCacheEnvironment,
      DATA_DIR: folder,
    },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const log = (): string => (existsSync(logFile) ? readFileSync(logFile, 'utf8') : '')
  await waitUntil(() => log().includes('"listening"'), 'the server to start')
  terminal.kill('SIGKILL')
  await waitUntil(() => log().includes('"stopped"'), 'it to have ended in order')
  t.match(log(), '"signal":"SIGHUP"')
})

t.test('announces the drain on kept and on new connections and asks each to close', async (t) => {
  // The shipped notice time: new connections are accepted for this long, and every request of the test is made within it.
  const g = await startGateway(t, { timeouts: { drainNoticeMs: 2_000 } })
  const { token } = await g.createMember()
  // Longer than the notice.
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
  await waitUntil(() => /^HTTP\/1\.1 200[^]*\}$/.test(heard), 'the first answer')
  heard = ''
  const closing = g.gateway.close({ drainMs: 60_000 })
  ask()
  await waitUntil(() => heard.includes('draining'), 'the second answer')
  t.match(heard, /^HTTP\/1\.1 503/)
  t.match(heard, /connection: close/i)
  const other = await fetch(`${g.url}/readyz`)
  t.equal(other.status, 503, 'a new connection is told as well')
  t.match(await other.json(), { ok: false, reasons: ['draining'] })
  t.equal((await fetch(`${g.url}/healthz`)).status, 200, 'and it lives')
  t.match(await running.text(), completedStream)
  const from = performance.now()
  await closing
  t.ok(
    performance.now() - from < maxImmediateMs,
    'it ends with the last turn, not with the time that its clients keep their connections',
  )
})
