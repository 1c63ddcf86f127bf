/** What the operator's commands print, on terminals and into pipes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import t from 'tap'
import { keptCompiled } from '../support/bare-program.ts'
import { Browser } from '../support/browser.ts'
import { freePort } from '../support/free-port.ts'
import { startGateway } from '../support/gateway.ts'
import { operatorOf } from '../support/operate.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

// oxlint-disable-next-line no-control-regex -- these are what is looked for
const acting = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/

t.test('what a member has named moves no cursor on the operator’s terminal', async (t) => {
  const gateway = await startGateway(t)
  const browser = new Browser(gateway)
  await browser.signIn('mei@example.com')
  const name = '\u009b2J\u009b31mgone\u202etfel'
  t.equal((await browser.post('auth/api-keys', { name })).status, 201)
  const operate = operatorOf(t, gateway.services.config.store.dataDir)
  const list = ['key', 'list', '--account', 'mei@example.com']
  for (const words of [list, [...list, '--json'], ['audit', '--account', 'mei@example.com']]) {
    const { code, output } = await operate(...words)
    t.equal(code, 0)
    t.notMatch(output, acting, words.join(' '))
  }
  const { output } = await operate(...list, '--json')
  t.ok(JSON.stringify(JSON.parse(output)).includes(name), 'as JSON it is what it was')
})

t.test('a reader that has gone is no failure', async (t) => {
  const program = join(import.meta.dirname, '../../bin/svc-gateway.js')
  const child = spawn(process.execPath, [program, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  let complaint = ''
  child.stderr.on('data', (text) => (complaint += text))
  const [code] = await once(child, 'close')
  t.equal(complaint, '')
  t.equal(code, 0)
})

t.test('a server whose words nobody takes serves, and stops when it is told to', async (t) => {
  const full = openSync('/dev/full', 'w')
  t.teardown(() => closeSync(full))
  const port = await freePort()
  const dataDir = temporaryFolder(t)
  const program = join(import.meta.dirname, '../../bin/svc-gateway.js')
  const child = spawn(process.execPath, [program, 'start'], {
    cwd: join(import.meta.dirname, '../..'),
    env: {
      PATH: process.env['PATH'],
      HOME: dataDir,
      DATA_DIR: dataDir,
      HOST: '127.0.0.1',
      PORT: String(port),
      WORKERS: '1',
      ...keptCompiled,
    },
    stdio: ['ignore', full, full],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const isReady = async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status === 200
  while (child.exitCode === null && !(await isReady())) await after(100)
  // What it says of its start has been tried by then.
  await after(500)
  t.ok(await isReady())
  child.kill('SIGTERM')
  t.same(await ended, [0, null])
})
