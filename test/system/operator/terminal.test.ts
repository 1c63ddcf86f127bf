/** Output of the operator's commands on terminals and in pipes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import t from 'tap'
import { compileCacheEnvironment } from '../../runner/clean-command.ts'
import { WebsiteClient } from '../../support/gateway/website-client.ts'
import { findFreePort } from '../../support/free-port.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import { createOperatorCli } from '../../support/gateway/operator-cli.ts'
import { createTemporaryFolder } from '../../support/temporary-folder.ts'

/** What moves the cursor, turns the direction of text, or is not seen at all. */
const acting = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

t.test('a name chosen by a member moves no cursor on the operator’s terminal', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  await browser.signIn('mei@example.com')
  const name = '\u009b2J\u009b31mgone\u202etfel\u200f\u200e\u061c\u200b\ufeff\u{e0041}\u00ad'
  t.equal((await browser.post('auth/api-keys', { name })).status, 201)
  const operate = createOperatorCli(t, gateway.services.config.store.dataDir)
  const list = ['key', 'list', '--account', 'mei@example.com']
  for (const words of [list, [...list, '--json'], ['audit', '--account', 'mei@example.com']]) {
    const { code, stdout } = await operate(...words)
    t.equal(code, 0)
    t.notMatch(stdout, acting, words.join(' '))
  }
  const { stdout } = await operate(...list, '--json')
  t.ok(JSON.stringify(JSON.parse(stdout)).includes(name), 'as JSON it is what it was')
  const { code, stderr } = await operate('key', 'list', '--account', `${name}@example.com`)
  t.equal(code, 1)
  t.match(stderr, 'gone')
  t.notMatch(stderr, acting, 'also in the sentence of a failure')
})

t.test('a closed pipe is no failure', async (t) => {
  const program = join(import.meta.dirname, '../../../bin/svc-gateway.js')
  const child = spawn(process.execPath, [program, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  let complaint = ''
  child.stderr.on('data', (text) => (complaint += text))
  const [code] = await once(child, 'close')
  t.equal(complaint, '')
  t.equal(code, 0)
})

t.test('a server whose output is not read serves, and stops at a signal', async (t) => {
  const full = openSync('/dev/full', 'w')
  t.teardown(() => closeSync(full))
  const port = await findFreePort()
  const dataDir = createTemporaryFolder(t)
  const program = join(import.meta.dirname, '../../../bin/svc-gateway.js')
  const child = spawn(process.execPath, [program, 'start'], {
    cwd: join(import.meta.dirname, '../../..'),
    env: {
      PATH: process.env['PATH'],
      HOME: dataDir,
      DATA_DIR: dataDir,
      HOST: '127.0.0.1',
      PORT: String(port),
      WORKERS: '1',
      ...compileCacheEnvironment,
    },
    stdio: ['ignore', full, full],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const isReady = async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status === 200
  while (child.exitCode === null && !(await isReady())) await after(100)
  // By then it has tried to write its startup message.
  await after(500)
  t.ok(await isReady())
  child.kill('SIGTERM')
  t.same(await ended, [0, null])
})
