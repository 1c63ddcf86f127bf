/** Signs in from a real terminal: the cases in which the browser opens and in which it is not offered. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { sendJson, startStubGateway } from '../../../../support/cli/stub-gateway.ts'
import { createTemporaryFolder } from '../../../../support/gateway/test-gateway.ts'
import { openTerminal } from '../../../../support/cli/terminal.ts'

/** A site whose login is approved by the test, and a machine whose browser records the addresses it is given. */
async function setUp(t: Test, env: Record<string, string>) {
  let approved = false
  const server = await startStubGateway({
    'POST /api/membership/auth/device/poll': (_, response) =>
      sendJson(
        response,
        approved ? { status: 'approved', sessionToken: 'svc_sess_x' } : { status: 'pending', error: 'authorization_pending' },
      ),
  })
  t.teardown(() => server.close())
  server.routes['POST /api/membership/auth/device/start'] = (_, response) =>
    sendJson(response, {
      device_code: 'd',
      user_code: 'BCDF-GHJK',
      verification_uri_complete: `${server.origin}/device?user_code=BCDF-GHJK`,
      expires_in: 60,
      interval: 0.05,
    })
  const folder = createTemporaryFolder(t)
  const opened = join(folder, 'opened')
  mkdirSync(join(folder, 'bin'))
  const opener = join(folder, 'bin', 'xdg-open')
  writeFileSync(opener, `#!/bin/sh\nprintf '%s\\n' "$1" > '${opened}.part' && mv '${opened}.part' '${opened}'\n`)
  chmodSync(opener, 0o755)
  const terminal = await openTerminal(t, { SVC_SITE_URL: server.origin, ...env })
  if (terminal !== undefined) await terminal.typeLine(`clear; PATH="${join(folder, 'bin')}:$PATH"`)
  return { server, terminal, opened, approve: () => void (approved = true) }
}

t.test('with a display the browser opens on Enter and not before', async (t) => {
  const { server, terminal, opened, approve } = await setUp(t, { DISPLAY: ':0' })
  if (terminal === undefined) return
  await terminal.typeLine('svc login')
  const shown = await terminal.waitFor(/Press Enter to open it here/)
  const address = `${server.origin}/device?user_code=BCDF-GHJK`
  t.ok(shown.indexOf(address) < shown.indexOf('Press Enter'), 'the address comes first')
  const asked = server.requests.length
  while (server.requests.length < asked + 3) await terminal.readScreen()
  t.notOk(existsSync(opened), 'nothing opens by itself')
  await terminal.pressKeys('Enter')
  while (!existsSync(opened)) await terminal.readScreen()
  t.equal(readFileSync(opened, 'utf8'), `${address}\n`)
  approve()
  await terminal.waitFor(/Signed in at/)
  await terminal.typeLine('echo "exit=$?"')
  await terminal.waitFor(/exit=0/)
})

t.test('over ssh, without a display, and with --no-browser the browser is not offered, and Enter opens nothing', async (t) => {
  for (const [env, words] of [
    [{ DISPLAY: ':0', SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' }, ''],
    [{ DISPLAY: '', WAYLAND_DISPLAY: '' }, ''],
    [{ DISPLAY: ':0' }, ' --no-browser'],
  ] as const) {
    const { server, terminal, opened, approve } = await setUp(t, env)
    if (terminal === undefined) return
    await terminal.typeLine(`svc login${words}`)
    await terminal.waitFor(/BCDF-GHJK/)
    await terminal.pressKeys('Enter')
    const asked = server.requests.length
    while (server.requests.length < asked + 2) await terminal.readScreen()
    approve()
    const shown = await terminal.waitFor(/Signed in at/)
    t.notMatch(shown, 'Press Enter', JSON.stringify(env) + words)
    t.notOk(existsSync(opened))
  }
})

t.test('Ctrl-C ends the wait', async (t) => {
  const { terminal } = await setUp(t, { DISPLAY: ':0' })
  if (terminal === undefined) return
  await terminal.typeLine('svc login; echo "exit=$?"')
  await terminal.waitFor(/Press Enter/)
  await terminal.pressKeys('C-c')
  await terminal.waitFor(/Interrupted\.\nexit=130/)
  t.pass('it ended with 130')
})
