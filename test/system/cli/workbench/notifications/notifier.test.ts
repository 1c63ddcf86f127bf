/** Notifications: texts that every program treats as text, and the stored list in a real workbench. */
import { chmodSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'
import { Notifier, createTerminalSequence } from '../../../../../src/cli/workbench/notifications/notifier.ts'
import { getTmuxCommand } from '../../../../../src/cli/workbench/tmux/session.ts'
import { requireProgram } from '../../../../support/require-program.ts'
import { createFolder, readText, startTestWorkbench, createTestSettings } from '../support/test-workbench.ts'
import { waitUntil } from '../../../../support/wait-until.ts'
import { killAtEnd } from '../support/user.ts'

/** A program in place of the real one that records its arguments, one per line. */
function stub(t: Test, name: string, exit: number): { dir: string; bin: string; args: () => string } {
  const dir = createFolder(t)
  const bin = join(dir, 'bin')
  mkdirSync(bin)
  writeFileSync(
    join(bin, name),
    `#!/bin/sh\nfor word in "$@"; do printf '[%s]' "$word"; done > ${join(dir, 'args')}\necho "no daemon" >&2\nexit ${exit}\n`,
  )
  chmodSync(join(bin, name), 0o755)
  return { dir, bin, args: () => readText(join(dir, 'args')) }
}

const message = { title: '--title $(touch x)', body: '"body"; `id`', sound: true }

t.test('notify-send receives the texts as arguments, never as options', async (t) => {
  const { bin, args } = stub(t, 'notify-send', 0)
  const env = { PATH: `${bin}:/usr/bin:/bin`, DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere' }
  const notifier = new Notifier({ env, platform: 'linux', listClients: () => Promise.resolve([]) })
  t.match(await notifier.show(message), [
    { sink: 'terminal', ok: false, reason: 'no terminal is attached' },
    { sink: 'desktop', ok: true },
  ])
  t.match(args(), /\[--\]\[--title \$\(touch x\)\]\["body"; `id`\]$/)
  t.match(args(), /sound-name/)
})

t.test('osascript receives the texts as arguments, never as script', async (t) => {
  const { bin, args } = stub(t, 'osascript', 0)
  const notifier = new Notifier({
    env: { PATH: `${bin}:/usr/bin:/bin` },
    platform: 'darwin',
    listClients: () => Promise.resolve([]),
  })
  await notifier.show({ title: '-e', body: 'do shell script "touch x"', sound: false })
  t.match(args(), /\[end run\]\[--\]\[-e\]\[do shell script "touch x"\]$/)
})

t.test('starts nothing without a desktop session, and reports a missing daemon', async (t) => {
  const { bin, args, dir } = stub(t, 'notify-send', 1)
  const show = (env: Readonly<Record<string, string>>): ReturnType<Notifier['show']> =>
    new Notifier({
      env: { PATH: `${bin}:/usr/bin:/bin`, ...env },
      platform: 'linux',
      listClients: () => Promise.resolve([]),
    }).show(message)
  t.match((await show({}))[1], { sink: 'desktop', ok: false, reason: 'there is no desktop session here' })
  t.equal(args(), '')
  t.match((await show({ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere' }))[1], { ok: false, reason: 'no daemon' })
  writeFileSync(join(dir, 'bus'), '')
  t.match((await show({ XDG_RUNTIME_DIR: dir }))[1], { ok: false, reason: 'no daemon' })
})

t.test('on macOS the texts are arguments of the script, not part of it', async (t) => {
  const { bin, args } = stub(t, 'osascript', 0)
  const notifier = new Notifier({
    env: { PATH: `${bin}:/usr/bin:/bin` },
    platform: 'darwin',
    listClients: () => Promise.resolve([]),
  })
  t.match((await notifier.show(message))[1], { sink: 'desktop', ok: true })
  t.match(
    args(),
    /\[display notification \(item 2 of argv\) with title \(item 1 of argv\) sound name "Ping"\]\[-e\]\[end run\]\[--\]\[--title \$\(touch x\)\]/,
  )
})

t.test("a terminal's own sequence holds nothing that could end it or start another", (t) => {
  const evil = { title: 'a\u001b\\\u0007b;c', body: 'x\u009d\r\ny\u2028z\u202e', sound: false }
  t.equal(createTerminalSequence('xterm-256color', evil), '\u001b]9;a \\ b;c: x y z\u001b\\')
  t.equal(createTerminalSequence('xterm-kitty', evil), '\u001b]777;notify;a \\ b,c;x y z\u001b\\')
  t.equal(createTerminalSequence('xterm-256color', { title: 't', body: '', sound: true }), '\u001b]9;t\u001b\\\u0007')
  t.equal(createTerminalSequence('linux', { ...evil, sound: true }), '\u0007', 'a console that would print it')
  t.equal(createTerminalSequence('dumb', evil), '')
  t.ok(createTerminalSequence('xterm', { title: 'x'.repeat(5_000), body: 'y'.repeat(50_000), sound: false }).length < 600)
  t.end()
})

t.test('the attached terminal receives the notification, and the status line its text and the unread mark', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const dir = createFolder(t)
  const { env } = createTestSettings(dir)
  const { client, settings } = await startTestWorkbench(t, { engine: 'tmux' }, dir)
  const screen = join(dir, 'screen')
  const [program, ...base] = getTmuxCommand(settings.runDir)
  await client.call('workspace.list', {})
  const terminal = spawn(
    'script',
    ['-qfc', `stty rows 30 cols 100; exec ${[program, ...base].join(' ')} attach-session -t =svc`, screen],
    {
      env: { ...env, TERM: 'xterm-256color', SHELL: '/bin/sh' },
      stdio: ['pipe', 'ignore', 'ignore'],
    },
  )
  killAtEnd(t, terminal)
  await waitUntil(() => readText(screen).includes('home'), 'the terminal shows the workbench')
  const { workspace } = await client.call('workspace.create', { title: 'Tests' })
  const { id, delivered } = await client.call('notification.create', {
    title: 'Build #(id)',
    body: 'is\u001b[31m done',
    sound: true,
    workspaceId: workspace.id,
  })
  t.match(delivered, [
    { sink: 'record', ok: true },
    { sink: 'terminal', ok: true },
    { sink: 'desktop', ok: false },
  ])
  await waitUntil(
    () => readText(screen).includes('\u001b]9;Build #(id): is [31m done\u001b\\\u0007'),
    'the sequence is on the terminal',
  )
  await waitUntil(() => /Tests \(1\)/.test(readText(screen)), 'the unread mark is in the status line')
  const readStatusLine = () => readText(screen).replaceAll('\u001b]9;Build #(id): is [31m done', '')
  await waitUntil(
    () => readStatusLine().includes('Build #(id): is [31m done'),
    'the text is in the status line, and runs nothing',
  )
  t.match((await client.call('workspace.show', { id: workspace.id })).workspace, { unread: 1 })
  await client.call('notification.read', { id })
  t.match((await client.call('workspace.show', { id: workspace.id })).workspace, { unread: 0 })
  const { stdout } = spawnSync(String(program), [...base, 'show-options', '-v', '-t', '=svc:', '@svc_notice'], {
    env,
    encoding: 'utf8',
  })
  t.equal(stdout.trim(), '', 'a text that was read is gone')
})

t.test('notifications are listed, read, opened, dismissed and cleared', async (t) => {
  const { client } = await startTestWorkbench(t)
  const { workspace, pane } = await client.call('workspace.create', { title: 'w' })
  const one = await client.call('notification.create', { title: 'one', body: '', paneId: pane.id })
  const two = await client.call('notification.create', { title: 'two', body: '', workspaceId: workspace.id })
  const three = await client.call('notification.create', { title: 'three', body: '' })
  t.match(await client.call('notification.nextUnread', {}), {
    notification: { id: one.id, read: true },
    focused: { paneId: pane.id },
  })
  t.match(await client.call('notification.list', { unread: true }), { notifications: [{ id: two.id }, { id: three.id }] })
  await client.call('notification.open', { id: two.id })
  await t.rejects(client.call('notification.open', { id: three.id }), { code: 'not_found' }, 'it belongs to no place')
  await client.call('notification.dismiss', { id: one.id })
  await t.rejects(client.call('notification.read', { id: one.id }), { code: 'not_found' })
  t.match(await client.call('notification.clear', {}), { cleared: 2 })
  await t.rejects(client.call('notification.nextUnread', {}), { code: 'not_found' })
})

t.test('notifies also if the list cannot be written', async (t) => {
  const bench = await startTestWorkbench(t)
  const { client, settings } = bench
  const inTheWay = join(settings.stateDir, 'notifications.json.new')
  mkdirSync(inTheWay)
  const { id, delivered } = await client.call('notification.create', { title: 'one', body: '' })
  t.match(delivered[0], { sink: 'record', ok: false, reason: /EISDIR/ })
  t.match(await client.call('notification.read', { id }), { notification: { title: 'one', read: true } })
  rmdirSync(inTheWay)
  await client.call('notification.create', { title: 'two', body: '' })
  const again = await bench.restart()
  t.match(await again.client.call('notification.list', {}), { notifications: [{ title: 'one', read: true }, { title: 'two' }] })
})
