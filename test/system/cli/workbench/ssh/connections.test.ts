/** ssh connections with a real sshd on loopback: connecting, files, failures, ending and recovery. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'
import type { WorkbenchClient } from '../../../../../src/cli/workbench-commands/connection/workbench-client.ts'
import { CommandFailure } from '../../../../../src/cli/failure.ts'
import { download, upload } from '../../../../../src/cli/workbench-commands/remote-files/transfer.ts'
import type { Ssh } from '../../../../../src/cli/workbench/protocol/results.ts'
import { toCleanCommand } from '../../../../runner/clean-command.ts'
import { requireProgram } from '../../../../support/require-program.ts'
import type { TestSshd } from '../../../../support/servers/sshd.ts'
import { startSshd } from '../../../../support/servers/sshd.ts'
import type { TestWorkbench } from '../support/test-workbench.ts'
import { createFolder, startTestWorkbench, createTestSettings } from '../support/test-workbench.ts'
import { waitUntil } from '../../../../support/wait-until.ts'

interface Scene {
  readonly bench: TestWorkbench
  readonly client: WorkbenchClient
  readonly sshd: TestSshd
  readonly dir: string
}

let shared: Promise<Scene> | undefined

async function start(): Promise<Scene> {
  const dir = createFolder(t)
  const sshd = await startSshd(t, dir)
  const { env } = createTestSettings(dir)
  const bench = await startTestWorkbench(t, { engine: 'tmux', env: { ...env, PATH: `${sshd.bin}:${env['PATH']}` } }, dir)
  return { bench, client: bench.client, sshd, dir }
}

/** One server and one workbench for the file. */
async function scene(test: Test): Promise<Scene | undefined> {
  if (!requireProgram(test, 'tmux') || !requireProgram(test, 'ssh') || !requireProgram(test, '/usr/sbin/sshd')) return undefined
  return (shared ??= start())
}

async function settled(client: WorkbenchClient, sshId: string): Promise<Ssh> {
  return waitUntil(async () => {
    const { ssh } = await client.call('ssh.status', { sshId })
    return ssh.state === 'connected' ? ssh.explorer !== null && ssh : ssh.state !== 'connecting' && ssh
  }, 'the connection has come or failed')
}

t.test('a host alias of the configuration connects and offers the explorer', async (t) => {
  const given = await scene(t)
  if (!given) return
  const { client } = given
  const seen: string[] = []
  client.onEvent((event) => seen.push(event.name))
  await client.call('events.subscribe', { names: ['ssh.state', 'explorer.offered'] })
  const made = await client.call('ssh.connect', { destination: 'box' })
  t.match(made, { ssh: { state: 'connecting', explorer: null }, workspace: { kind: 'ssh', title: 'box', focused: false } })
  const ssh = await settled(client, made.ssh.id)
  t.match(ssh, { state: 'connected', explorer: { offered: true, root: homedir() } }, 'the root is the remote home')
  await waitUntil(() => seen.includes('explorer.offered'), 'it was told')
  t.strictSame(seen, ['ssh.state', 'explorer.offered'])
  await client.call('pane.send', { paneId: ssh.paneId, text: 'echo "at $SSH_CONNECTION" | cut -c1-12\n' })
  await waitUntil(
    async () => /^at 127\.0\.0\./m.test((await client.call('pane.read', { paneId: ssh.paneId })).text),
    'the shell there answers',
  )
})

t.test('a file session that fails once after a reconnect is opened again', async (t) => {
  const given = await scene(t)
  if (!given) return
  const { client, dir, sshd } = given
  const { id: sshId } = await settled(client, (await client.call('ssh.connect', { destination: 'box' })).ssh.id)
  const program = join(sshd.bin, 'ssh')
  const script = readFileSync(program, 'utf8')
  const failed = join(dir, 'failed-once')
  writeFileSync(
    program,
    script.replace('\n', `\nfor word; do :; done\nif [ "$word" = sftp ] && mkdir '${failed}' 2>/dev/null; then exit 255; fi\n`),
  )
  t.teardown(() => writeFileSync(program, script))
  await client.call('ssh.reconnect', { sshId })
  t.match(await settled(client, sshId), { state: 'connected', explorer: { offered: true }, reason: null })
  t.ok(existsSync(failed), 'the first one failed')
})

t.test('files are listed, read, written, moved and removed over the same connection', async (t) => {
  const given = await scene(t)
  if (!given) return
  const { client, dir, sshd } = given
  const { id: sshId } = await settled(client, (await client.call('ssh.connect', { destination: 'box' })).ssh.id)
  const there = join(dir, 'there')
  mkdirSync(there)
  const odd = 'a name\nwith a line end'
  writeFileSync(join(there, 'with spaces and "quotes"'), 'one')
  writeFileSync(join(there, odd), 'two')
  writeFileSync(Buffer.concat([Buffer.from(`${there}/`), Buffer.from([0xff, 0xfe])]), 'three')
  mkdirSync(join(there, 'folder'))
  // Proves that there is no second login: the alias's key is removed.
  const authorized = join(dir, 'ssh', 'authorized')
  const keys = readFileSync(authorized)
  t.teardown(() => writeFileSync(authorized, keys))
  writeFileSync(authorized, '')
  const { path, files } = await client.call('files.list', { sshId, path: there })
  t.equal(path, there)
  t.strictSame(files.map(({ name }) => name).sort(), [odd, 'folder', 'with spaces and "quotes"', '\ufffd\ufffd'].sort())
  t.match(
    files.find(({ name }) => name === odd),
    { type: 'file', size: 3 },
  )
  const bytes = files.find((file) => file.nameBase64 !== undefined)?.nameBase64 ?? ''
  const whole = Buffer.concat([Buffer.from(`${there}/`), Buffer.from(bytes, 'base64')]).toString('base64')
  t.match(await client.call('files.read', { sshId, pathBase64: whole, offset: 0 }), {
    data: Buffer.from('three').toString('base64'),
    end: true,
  })
  t.match(await client.call('files.read', { sshId, path: join(there, odd), offset: 1, length: 1 }), {
    data: Buffer.from('w').toString('base64'),
    bytes: 1,
  })

  await client.call('files.mkdir', { sshId, path: join(there, 'made') })
  await client.call('files.write', {
    sshId,
    path: join(there, 'made', 'x'),
    offset: 0,
    data: Buffer.from('hello').toString('base64'),
    mode: 0o600,
  })
  t.equal(readFileSync(join(there, 'made', 'x'), 'utf8'), 'hello')
  await client.call('files.write', { sshId, path: join(there, 'y'), offset: 0, data: '' })
  await t.rejects(
    client.call('files.rename', { sshId, path: join(there, 'made', 'x'), to: join(there, 'y') }),
    { code: 'remote_io' },
    'not over a file that is there',
  )
  await client.call('files.rename', { sshId, path: join(there, 'made', 'x'), to: join(there, 'y'), replace: true })
  t.equal(readFileSync(join(there, 'y'), 'utf8'), 'hello')
  t.match(await client.call('files.stat', { sshId, path: join(there, 'y') }), {
    file: { name: 'y', type: 'file', size: 5, mode: 0o600 },
  })
  await client.call('files.remove', { sshId, path: join(there, 'made') })
  await client.call('files.remove', { sshId, path: join(there, 'y') })
  t.notOk(existsSync(join(there, 'y')) || existsSync(join(there, 'made')))

  await t.rejects(client.call('files.read', { sshId, path: join(there, 'absent'), offset: 0 }), { code: 'not_found' })
  await t.rejects(client.call('files.read', { sshId, path: there, offset: 0 }), { code: 'remote_io' })
  await t.rejects(client.call('files.list', { sshId, path: 'a\0b' }), { code: 'invalid_params' })
  await t.rejects(client.call('files.list', { sshId }), { code: 'invalid_params' })
  t.equal(sshd.alias, 'box')
})

t.test('uploads ten megabytes and downloads them unchanged', async (t) => {
  const given = await scene(t)
  if (!given) return
  const { client, dir } = given
  const { id: sshId } = await settled(client, (await client.call('ssh.connect', { destination: 'box' })).ssh.id)
  const data = randomBytes(10 * 1024 * 1024 + 12_345)
  const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
  writeFileSync(join(dir, 'big'), data, { mode: 0o640 })
  const remote = { sshId, path: join(dir, 'big there') }
  t.equal(await upload(client, join(dir, 'big'), remote, () => undefined), data.length)
  t.equal(hash(readFileSync(remote.path)), hash(data))
  t.equal(await download(client, remote, join(dir, 'big back'), () => undefined), data.length)
  t.equal(hash(readFileSync(join(dir, 'big back'))), hash(data))
  t.equal(statSync(join(dir, 'big back')).mode & 0o777, 0o640)
  writeFileSync(join(dir, 'empty'), '')
  await upload(client, join(dir, 'empty'), { sshId, path: join(dir, 'empty there') }, () => undefined)
  t.equal(await download(client, { sshId, path: join(dir, 'empty there') }, join(dir, 'empty back'), () => undefined), 0)
  await t.rejects(
    download(client, { sshId, path: join(dir, 'absent') }, join(dir, 'never'), () => undefined),
    { code: 'not_found' },
  )
  t.notOk(existsSync(join(dir, 'never')))
})

t.test('uploads a read-only file', async (t) => {
  const from = join(createFolder(t), 'read only')
  writeFileSync(from, 'x', { mode: 0o444 })
  let mode: number | undefined
  const call = async (method: string, params: { readonly mode?: number }): Promise<unknown> => {
    if (method === 'files.stat') throw new CommandFailure('not_found', 'nothing there')
    // Every system refuses to open a read-only file for writing, except to root.
    if (method === 'files.write' && mode !== undefined && (mode & 0o200) === 0) throw new CommandFailure('remote_io', 'denied')
    mode ??= params.mode
    return {}
  }
  const client = { call } as unknown as WorkbenchClient
  t.equal(await upload(client, from, { sshId: 's', path: 'far' }, () => undefined), 1)
  t.equal(mode, 0o644)
})

t.test('a failed or stopped transfer leaves no partial file on the remote machine', async (t) => {
  const from = join(createFolder(t), 'from')
  const turns = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i += 1) await new Promise((resolve) => setImmediate(resolve))
  }
  for (const [name, code] of [
    ['fails', 'remote_io'],
    ['stopped', 'interrupted'],
  ] as const) {
    writeFileSync(from, Buffer.alloc(4 * 1024 * 1024))
    const stop = new AbortController()
    const asked: string[] = []
    const call = async (method: string, { offset }: { readonly offset?: number }): Promise<unknown> => {
      asked.push(method)
      if (method === 'files.stat') throw new CommandFailure('not_found', 'nothing there')
      // The first chunks are in flight when one of them fails; the others arrive a little later.
      if (offset === 512 * 1024 && name === 'fails') throw new CommandFailure('remote_io', 'full')
      if (offset === 512 * 1024) stop.abort()
      await turns(method === 'files.remove' ? 50 : 5)
      return {}
    }
    const client = { call } as unknown as WorkbenchClient
    await t.rejects(
      upload(client, from, { sshId: 's', path: 'far' }, () => undefined, stop.signal),
      { code },
      name,
    )
    await turns(100)
    t.equal(asked.at(-1), 'files.remove', `${name}: nothing is written after it was removed`)
    t.notOk(asked.includes('files.rename'))
  }
})

t.test('a disk that accepts only a part of a file keeps none of it', (t) => {
  const dir = createFolder(t)
  const program = `
    import { download } from ${JSON.stringify(new URL('../../../../../src/cli/workbench-commands/remote-files/transfer.ts', import.meta.url).href)}
    const data = Buffer.alloc(100_000, 'x').toString('base64')
    const call = async (method) => (method === 'files.read' ? { data, bytes: 100_000, end: true } : { file: { type: 'file', mode: 0o644 } })
    await download({ call }, { sshId: 's', path: 'far' }, ${JSON.stringify(join(dir, 'near'))}, () => undefined)
  `
  const [bare, all] = toCleanCommand(process.execPath, ['--input-type=module', '--eval', program])
  // In blocks of 512 or 1024 bytes, depending on the shell: less than the file, and more than nothing.
  const { status, signal } = spawnSync('sh', ['-c', 'ulimit -f 40; exec "$0" "$@"', bare, ...all])
  t.ok(status !== 0 || signal !== null)
  t.notOk(existsSync(join(dir, 'near')))
  t.end()
})

t.test('closes a file session that is opened while the previous one ends', async (t) => {
  const given = await scene(t)
  if (!given) return
  const { client, bench } = given
  const { id: sshId } = await settled(client, (await client.call('ssh.connect', { destination: 'box' })).ssh.id)
  const path = join(bench.settings.runDir, sshId)
  const sessions = (): readonly string[] =>
    execFileSync('ps', ['-ewwo', 'args'], { encoding: 'utf8' })
      .split('\n')
      .filter((args) => args.includes(path) && args.endsWith(' sftp'))
  // A session ends a second after its last use; one of these calls arrives at that moment.
  for (const ms of [1_002, 1_003]) {
    await client.call('files.stat', { sshId, path: '/' })
    await new Promise((resolve) => setTimeout(resolve, ms))
    await client.call('files.stat', { sshId, path: '/' })
  }
  await waitUntil(() => sessions().length === 0, 'all are gone', 20)
})

t.test('a wrong key and an unknown host fail with the message of ssh', async (t) => {
  const given = await scene(t)
  if (!given) return
  const { client } = given
  for (const [destination, words] of [
    ['wrong-key', /Permission denied/],
    ['unknown-host', /Host key verification failed|No .*host key is known/],
  ] as const) {
    const { ssh } = await client.call('ssh.connect', { destination })
    const ended = await settled(client, ssh.id)
    t.match(ended, { state: 'failed', exit: 255, explorer: null }, destination)
    t.match(ended.reason, words)
    await t.rejects(client.call('files.list', { sshId: ssh.id, path: '.' }), { code: 'ssh_not_connected' })
    t.match(await client.call('pane.read', { paneId: ended.paneId, lines: 5 }), { text: words }, 'the pane stays to show it')
  }
  for (const destination of ['-oProxyCommand=touch x', 'a b', 'a\nb']) {
    await t.rejects(client.call('ssh.connect', { destination }), { code: 'invalid_params' }, destination)
  }
})

t.test('removes a failed connection when its workspace is closed', async (t) => {
  const given = await scene(t)
  if (!given) return
  const { client } = given
  const { ssh } = await client.call('ssh.connect', { destination: 'wrong-key' })
  t.match(await settled(client, ssh.id), { state: 'failed' })
  await client.call('workspace.close', { id: ssh.workspaceId })
  await waitUntil(async () => !(await client.call('ssh.list', {})).connections.some(({ id }) => id === ssh.id), 'it is gone')
})

t.test('ssh asks its questions in its pane', async (t) => {
  const given = await scene(t)
  if (!given) return
  const { client } = given
  const { ssh } = await client.call('ssh.connect', { destination: 'asks' })
  await waitUntil(
    async () => (await client.call('pane.read', { paneId: ssh.paneId })).text.includes('continue connecting'),
    'it asks for the host key',
  )
  t.match(await client.call('ssh.status', { sshId: ssh.id }), { ssh: { state: 'connecting' } })
  await client.call('pane.send', { paneId: ssh.paneId, text: 'yes\n' })
  t.match(await settled(client, ssh.id), { state: 'connected' })
})

t.test('keeps a control path of the user', async (t) => {
  const given = await scene(t)
  if (!given) return
  const { client, dir } = given
  const { ssh } = await client.call('ssh.connect', { destination: 'own-control' })
  t.match(await settled(client, ssh.id), { state: 'connected' })
  t.ok(readdirSync(dir).some((name) => /^own-[0-9a-f]{40}$/.test(name)))
})

t.test('detects a connection that ends, does not reconnect by itself, and reconnects on request', async (t) => {
  const given = await scene(t)
  if (!given) return
  const { client } = given
  const exited: unknown[] = []
  client.onEvent(({ name, data }) => name === 'pane.exited' && exited.push(data['paneId']))
  await client.call('events.subscribe', { names: ['pane.exited'] })
  const { ssh } = await client.call('ssh.connect', { destination: 'box' })
  await settled(client, ssh.id)
  await client.call('ssh.disconnect', { sshId: ssh.id })
  t.match(await client.call('ssh.status', { sshId: ssh.id }), { ssh: { state: 'closed', explorer: null } })
  await t.rejects(client.call('files.list', { sshId: ssh.id, path: '.' }), { code: 'ssh_not_connected' })
  await client.call('ssh.reconnect', { sshId: ssh.id })
  t.match(await settled(client, ssh.id), { state: 'connected' })
  await client.call('pane.send', { paneId: ssh.paneId, text: 'exit 0\n' })
  await waitUntil(async () => (await client.call('ssh.status', { sshId: ssh.id })).ssh.state === 'closed', 'its end is noticed')
  await waitUntil(() => exited.includes(ssh.paneId), 'the end of its program is reported')
  await client.call('workspace.close', { id: ssh.workspaceId })
})

t.test('the explorer runs in a pane: it lists, opens, shows, creates, renames, downloads and deletes', async (t) => {
  const given = await scene(t)
  if (!given) return
  const { client, dir } = given
  const { ssh } = await client.call('ssh.connect', { destination: 'box' })
  await settled(client, ssh.id)
  const there = join(dir, 'explored')
  mkdirSync(join(there, 'inner'), { recursive: true })
  writeFileSync(join(there, 'inner', 'note.txt'), 'first line\nsecond \u001b]0;title\u0007line\n')
  const { pane } = await client.call('files.open', { sshId: ssh.id, path: there })
  const shows = (words: RegExp): Promise<unknown> =>
    waitUntil(async () => words.test((await client.call('pane.read', { paneId: pane.id })).text), `the explorer shows ${words}`)
  const key = (name: string): Promise<unknown> => client.call('pane.key', { paneId: pane.id, key: name })
  const type = (text: string): Promise<unknown> => client.call('pane.send', { paneId: pane.id, text })
  await shows(/> +inner\//)
  await key('Enter')
  await shows(/> +\d+ {2}note\.txt/)
  await key('Enter')
  await shows(/second line/)
  await key('q')
  await key('m')
  await shows(/New directory: _/)
  await type('made\n')
  await shows(/made\//)
  t.ok(existsSync(join(there, 'inner', 'made')))
  await key('Down')
  await shows(/> +\d+ {2}note\.txt/)
  await key('r')
  await key('C-u')
  await type('other.txt\n')
  await shows(/> +\d+ {2}other\.txt/)
  await key('g')
  await key('C-u')
  await type(`${join(dir, 'fetched')}\n`)
  await shows(/got \d+ bytes/)
  t.match(readFileSync(join(dir, 'fetched'), 'utf8'), /first line/)
  await key('d')
  await type('no\n')
  await shows(/not deleted/)
  await key('d')
  await type('yes\n')
  await shows(/deleted other\.txt/)
  t.notOk(existsSync(join(there, 'inner', 'other.txt')))
  await key('q')
  await waitUntil(
    async () => !(await client.call('pane.list', { all: true })).panes.some(({ id }) => id === pane.id),
    'its pane is gone',
  )
})

t.test('a restarted host finds its connections', async (t) => {
  const given = await scene(t)
  if (!given) return
  const { bench, client } = given
  const { ssh } = await client.call('ssh.connect', { destination: 'box' })
  await settled(client, ssh.id)
  const again = await bench.restart()
  t.match(await settled(again.client, ssh.id), {
    id: ssh.id,
    destination: 'box',
    state: 'connected',
    workspaceId: ssh.workspaceId,
  })
  t.match(await again.client.call('files.realpath', { sshId: ssh.id, path: '.' }), { path: homedir() })
})
