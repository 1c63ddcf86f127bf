/** Signing in from a real terminal: when a browser is opened, and when nothing is offered. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { json, startContractServer } from '../../support/contract-server.ts'
import { temporaryFolder } from '../../support/gateway.ts'
import { openTerminal } from '../../support/terminal.ts'

/** A site whose login is approved when the test says so, and a machine whose browser writes down what it was told to open. */
async function setUp(t: Test, env: Record<string, string>) {
  let approved = false
  const server = await startContractServer({
    'POST /api/membership/auth/device/poll': (_, response) =>
      json(
        response,
        approved ? { status: 'approved', sessionToken: 'svc_sess_x' } : { status: 'pending', error: 'authorization_pending' },
      ),
  })
  t.teardown(() => server.close())
  server.routes['POST /api/membership/auth/device/start'] = (_, response) =>
    json(response, {
      device_code: 'd',
      user_code: 'BCDF-GHJK',
      verification_uri_complete: `${server.origin}/device?user_code=BCDF-GHJK`,
      expires_in: 60,
      interval: 0.05,
    })
  const folder = temporaryFolder(t)
  const opened = join(folder, 'opened')
  mkdirSync(join(folder, 'bin'))
  const opener = join(folder, 'bin', 'xdg-open')
  writeFileSync(opener, `#!/bin/sh\nprintf '%s\\n' "$1" > '${opened}.part' && mv '${opened}.part' '${opened}'\n`)
  chmodSync(opener, 0o755)
  const terminal = await openTerminal(t, { SVC_SITE_URL: server.origin, ...env })
  if (terminal !== undefined) await terminal.type(`clear; PATH="${join(folder, 'bin')}:$PATH"`)
  return { server, terminal, opened, approve: () => void (approved = true) }
}

t.test('with a display the browser opens on Enter and not before', async (t) => {
  const { server, terminal, opened, approve } = await setUp(t, { DISPLAY: ':0' })
  if (terminal === undefined) return
  await terminal.type('svc login')
  const shown = await terminal.until(/Press Enter to open it here/)
  const address = `${server.origin}/device?user_code=BCDF-GHJK`
  t.ok(shown.indexOf(address) < shown.indexOf('Press Enter'), 'the address comes first')
  const asked = server.received.length
  while (server.received.length < asked + 3) await terminal.screen()
  t.notOk(existsSync(opened), 'nothing opens by itself')
  await terminal.press('Enter')
  while (!existsSync(opened)) await terminal.screen()
  t.equal(readFileSync(opened, 'utf8'), `${address}\n`)
  approve()
  await terminal.until(/Signed in at/)
  await terminal.type('echo "exit=$?"')
  await terminal.until(/exit=0/)
})

t.test('over ssh, without a display, and with --no-browser nothing is offered, and Enter opens nothing', async (t) => {
  for (const [env, words] of [
    [{ DISPLAY: ':0', SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' }, ''],
    [{ DISPLAY: '', WAYLAND_DISPLAY: '' }, ''],
    [{ DISPLAY: ':0' }, ' --no-browser'],
  ] as const) {
    const { server, terminal, opened, approve } = await setUp(t, env)
    if (terminal === undefined) return
    await terminal.type(`svc login${words}`)
    await terminal.until(/BCDF-GHJK/)
    await terminal.press('Enter')
    const asked = server.received.length
    while (server.received.length < asked + 2) await terminal.screen()
    approve()
    const shown = await terminal.until(/Signed in at/)
    t.notMatch(shown, 'Press Enter', JSON.stringify(env) + words)
    t.notOk(existsSync(opened))
  }
})

t.test('Ctrl-C stops waiting', async (t) => {
  const { terminal } = await setUp(t, { DISPLAY: ':0' })
  if (terminal === undefined) return
  await terminal.type('svc login; echo "exit=$?"')
  await terminal.until(/Press Enter/)
  await terminal.press('C-c')
  await terminal.until(/Interrupted\.\nexit=130/)
  t.pass('it ended with 130')
})
