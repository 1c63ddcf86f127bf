/** Access to the socket, other files in its place, and a host that starts again after a kill. */
import { execFile, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import t from 'tap'
import { resolveSocketPath } from '../../../../../src/cli/workbench-commands/connection/socket-path.ts'
import { connectWorkbench, NotRunningError } from '../../../../../src/cli/workbench-commands/connection/workbench-client.ts'
import { toCleanCommand, compileCacheEnvironment } from '../../../../runner/clean-command.ts'
import { requireProgram } from '../../../../support/require-program.ts'
import type { Settings } from '../../../../../src/cli/workbench/settings.ts'
import { limits } from '../../../../../src/cli/workbench/protocol/protocol.ts'
import { createFolder, readText, startTestWorkbench, createTestSettings } from '../support/test-workbench.ts'
import { waitUntil } from '../../../../support/wait-until.ts'
import { killAtEnd } from '../support/user.ts'

const run = promisify(execFile)
const program = join(import.meta.dirname, '../../../../../src/cli/workbench/main.ts')

const connectTo = (settings: Settings): ReturnType<typeof connectWorkbench> =>
  connectWorkbench({
    socketPath: settings.socketPath,
    tokenPath: join(settings.runDir, 'workbench.token'),
    platform: process.platform,
    version: '1',
    caller: null,
    timeoutMs: 10_000,
    signal: AbortSignal.timeout(280_000),
  })

/** The host as its own process, as the command line starts it. */
async function startProcess(
  t: Test,
  settings: Settings,
): Promise<{ answer: Readonly<Record<string, unknown>>; pid: number; kill: () => Promise<void> }> {
  const [command, words] = toCleanCommand(process.execPath, [program])
  const child = spawn(command, words, {
    env: { ...settings.env, ...compileCacheEnvironment },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  killAtEnd(t, child)
  child.stdin.end(JSON.stringify(settings))
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  await waitUntil(() => text.includes('\n'), 'the host says whether it is ready')
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  return { answer: JSON.parse(text) as Readonly<Record<string, unknown>>, pid: child.pid ?? 0, kill }
}

t.test('only the user can access the socket, the token and the folders', async (t) => {
  const { settings } = await startTestWorkbench(t)
  const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8)
  t.equal(mode(settings.socketPath), '600')
  t.equal(mode(join(settings.runDir, 'workbench.token')), '600')
  t.equal(mode(settings.runDir), '700')
  t.equal(mode(settings.stateDir), '700')
})

t.test('another user of the machine cannot connect, even into an open folder', async (t) => {
  if (process.getuid?.() !== 0) return t.plan(0, 'only root can become another user')
  // Created where the other user can reach it, so that only the socket's own mode keeps the user out.
  const dir = mkdtempSync(join(tmpdir(), 'svcw-'))
  chmodSync(dir, 0o755)
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  mkdirSync(join(dir, 'run'), { mode: 0o755 })
  const { settings, token } = await startTestWorkbench(t, {}, dir)
  const attempt = [
    `const s = require('net').connect(${JSON.stringify(settings.socketPath)})`,
    `s.on('error', (e) => { console.log(e.code); process.exit(0) })`,
    `s.on('connect', () => { console.log('connected'); process.exit(0) })`,
  ].join(';')
  const node = await reachableNode(t, dir)
  const asNobody = { uid: 65534, gid: 65534, cwd: '/' }
  t.equal((await run(node, ['-e', attempt], asNobody)).stdout.trim(), 'EACCES')
  t.equal((await run(node, ['-e', attempt])).stdout.trim(), 'connected', 'the owner can: the attempt is a true one')
  const peek = `try { console.log(require('fs').readFileSync(${JSON.stringify(join(settings.runDir, 'workbench.token'))}, 'utf8')) } catch (e) { console.log(e.code) }`
  t.equal((await run(node, ['-e', peek], asNobody)).stdout.trim(), 'EACCES')
  t.equal((await run(node, ['-e', peek])).stdout.trim(), token)
})

/** A copy of Node that another user can execute. */
async function reachableNode(t: Test, dir: string): Promise<string> {
  const copy = join(dir, 'node')
  await run('cp', [process.execPath, copy])
  await run('chmod', ['755', copy])
  t.teardown(() => rmSync(copy, { force: true }))
  return copy
}

t.test('replaces a stale socket, but not one that answers', async (t) => {
  const dir = createFolder(t)
  const settings = createTestSettings(dir)
  const first = await startProcess(t, settings)
  t.match(first.answer, { ready: true })
  t.match((await startProcess(t, settings)).answer, { ready: false, code: 'already_running' })
  await first.kill()
  t.ok(existsSync(settings.socketPath), 'killed: its socket is left')
  await t.rejects(connectTo(settings), { message: 'no workbench listens' })
  t.match((await startProcess(t, settings)).answer, { ready: true })
  const client = await connectTo(settings)
  t.match(await client.call('system.ping', {}), { pong: true })
  client.close()
})

t.test('of two hosts that start at once one serves and the other reports it', async (t) => {
  const settings = createTestSettings(createFolder(t))
  const both = await Promise.all([startProcess(t, settings), startProcess(t, settings)])
  t.strictSame(both.map(({ answer }) => answer['ready']).sort(), [false, true])
  t.match(both.find(({ answer }) => answer['ready'] === false)?.answer, { code: 'already_running' })
  const client = await connectTo(settings)
  t.match(await client.call('system.ping', {}), { pong: true })
  client.close()
})

t.test('answers a client that connects during the start after the start', async (t) => {
  const dir = createFolder(t)
  const settings = createTestSettings(dir, { engine: 'tmux' })
  mkdirSync(settings.runDir, { mode: 0o700 })
  writeFileSync(join(settings.runDir, 'workbench.token'), 'of a host that was killed', { mode: 0o600 })
  // A tmux whose version check is slow and too old; methods without a terminal are served then.
  mkdirSync(join(dir, 'bin'))
  writeFileSync(join(dir, 'bin', 'tmux'), '#!/bin/sh\nsleep 1\necho tmux 1.0\n', { mode: 0o755 })
  const env = { ...settings.env, PATH: `${join(dir, 'bin')}:${settings.env['PATH']}` }
  const starting = startProcess(t, { ...settings, env })
  // The socket's file is there a moment before the host listens.
  const connect = () =>
    connectTo(settings).catch((error: unknown) => {
      if (!(error instanceof NotRunningError)) throw error
      return undefined
    })
  const client = await waitUntil(connect, 'the host listens')
  t.match(await client.call('system.ping', {}), { pong: true })
  client.close()
  t.match((await starting).answer, { ready: true })
})

t.test('leaves a file at the socket path that is not its own socket', async (t) => {
  const dir = createFolder(t)
  const settings = createTestSettings(dir)
  mkdirSync(settings.runDir, { mode: 0o700 })
  writeFileSync(settings.socketPath, 'precious')
  t.match((await startProcess(t, settings)).answer, { ready: false, code: 'unsafe_socket' })
  t.equal(readText(settings.socketPath), 'precious')
  rmSync(settings.socketPath)
  chmodSync(settings.runDir, 0o777)
  t.match((await startProcess(t, settings)).answer, { ready: false, code: 'unsafe_socket' }, 'a folder in which others may write')
  const long = join(dir, 'x'.repeat(120), 'workbench.sock')
  t.match((await startProcess(t, { ...settings, socketPath: long })).answer, { ready: false, code: 'socket_path_too_long' })
  const narrow = join(dir, 'x'.repeat(limits.socketPathBytes - dir.length - 4))
  t.match(
    (await startProcess(t, { ...settings, runDir: narrow, socketPath: join(narrow, 's') })).answer,
    { ready: false, code: 'socket_path_too_long' },
    'not long enough for the socket of tmux',
  )
})

t.test('the client refuses a socket that other users could have created', async (t) => {
  const dir = createFolder(t)
  const settings = createTestSettings(dir)
  mkdirSync(settings.runDir, { mode: 0o700 })
  writeFileSync(join(settings.runDir, 'workbench.token'), 'secret')
  const heard: string[] = []
  const impostor = createServer((socket) => socket.on('data', (data) => heard.push(data.toString())))
  await new Promise<void>((resolve) => impostor.listen(settings.socketPath, resolve))
  t.teardown(() => impostor.close())
  chmodSync(settings.runDir, 0o777)
  await t.rejects(connectTo(settings), { code: 'unsafe_socket' })
  t.strictSame(heard, [], 'the token was not told')
  impostor.close()
  chmodSync(settings.runDir, 0o700)
  rmSync(settings.socketPath, { force: true })
  writeFileSync(settings.socketPath, '')
  await t.rejects(connectTo(settings), { code: 'unsafe_socket' }, 'a file')
})

t.test('a restarted host finds the ids and panes of a killed one', async (t) => {
  if (!requireProgram(t, 'tmux')) return
  const dir = createFolder(t)
  const settings = createTestSettings(dir, { engine: 'tmux' })
  const first = await startProcess(t, settings)
  const client = await connectTo(settings)
  const { workspace, pane } = await client.call('workspace.create', { title: 'survives', command: 'kept=yes' })
  const { id } = await client.call('notification.create', { title: 'n', body: 'b', workspaceId: workspace.id })
  await first.kill()
  await client.closed
  await startProcess(t, settings)
  const again = await connectTo(settings)
  t.match(
    (await again.call('workspace.list', {})).workspaces.find((other) => other.id === workspace.id),
    { title: 'survives', unread: 1 },
  )
  t.match(await again.call('notification.list', {}), { notifications: [{ id, read: false }] })
  await again.call('pane.send', { paneId: pane.id, text: 'echo "still $kept"\n' })
  await waitUntil(
    async () => (await again.call('pane.read', { paneId: pane.id })).text.includes('still yes'),
    'the shell is the same',
  )
  await again.call('app.shutdown', { killSessions: true })
  await again.closed
})

t.test('without tmux the rest works, and other methods fail with the command that installs it', async (t) => {
  const dir = createFolder(t)
  const bare = join(dir, 'bare')
  mkdirSync(bare)
  // The browser is searched for as well.
  const browser = { ...createTestSettings(dir).browser, executable: null }
  const { client } = await startTestWorkbench(t, { engine: 'tmux', env: { PATH: bare, HOME: dir }, browser }, dir)
  t.match(client.hello.engine, { terminal: null, attach: null })
  await t.rejects(client.call('workspace.list', {}), { code: 'engine_unavailable', hints: [/apt install tmux/] })
  t.match(await client.call('notification.create', { title: 'still', body: 'told' }), {
    delivered: [{ sink: 'record', ok: true }],
  })
  const { checks } = await client.call('system.doctor', {})
  const missing = checks.filter((check) => !check.ok)
  t.strictSame(
    missing.map((check) => check.name),
    ['tmux', 'chromium', 'ssh', process.platform === 'darwin' ? 'osascript' : 'notify-send'],
  )
  for (const check of missing) t.match(check.hint, /install|part of/, `${check.name}: how to install it`)
})

t.test('the log contains methods, durations and codes, but no typed text', async (t) => {
  const { client, log } = await startTestWorkbench(t)
  const { workspace, pane } = await client.call('workspace.create', { title: 'hush-title' })
  await client.call('pane.send', { paneId: pane.id, text: 'hush-text' })
  await client.call('notification.create', { title: 'hush-title', body: 'hush-body', workspaceId: workspace.id })
  await t.rejects(client.call('pane.read', { paneId: 'hush-pane' }))
  t.ok(log.some((entry) => entry['method'] === 'pane.send' && entry['code'] === 'ok'))
  t.ok(log.some((entry) => entry['method'] === 'pane.read' && entry['code'] === 'not_found'))
  t.notMatch(JSON.stringify(log), /hush/)
})

t.test('the socket path is never in a folder that other users can write to', (t) => {
  const at = (env: Readonly<Record<string, string>>, option?: string, platform: NodeJS.Platform = 'linux'): string =>
    resolveSocketPath({ option, env, home: '/home/ada', user: 'ada', platform })
  t.equal(at({}, '/x.sock'), '/x.sock')
  t.equal(at({}, 'x.sock'), join(process.cwd(), 'x.sock'), 'from here, wherever the workbench runs')
  t.equal(at({ SVC_SOCKET: '/y.sock', XDG_RUNTIME_DIR: '/run/user/7' }), '/y.sock')
  t.equal(at({ XDG_RUNTIME_DIR: '/run/user/7', TMPDIR: '/tmp' }), '/run/user/7/svc/workbench.sock')
  t.equal(at({ TMPDIR: '/tmp' }), '/home/ada/.local/state/svc/run/workbench.sock')
  t.match(at({}, undefined, 'win32'), /^\\\\\.\\pipe\\svc-[0-9a-f]{16}$/)
  t.end()
})
