/** How the server is started by people: through npm, through npx, through our launcher; and that it ends with whoever started it. */
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { Test } from 'tap'
import { keptCompiled } from './support/bare-program.ts'
import { temporaryFolder, until } from './support/gateway.ts'
import { startServer } from './support/server.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const hasNpm = spawnSync('npm', ['--version']).status === 0

interface Started {
  readonly child: ChildProcess
  readonly said: () => string
  /** Of the server itself, whoever stands between. */
  readonly pid: number
  readonly url: string
}

/** Starts a command that is to end up in a server, and waits for it. */
async function start(t: Test, command: string, words: readonly string[], data = temporaryFolder(t)): Promise<Started> {
  const child = spawn(command, words, {
    cwd: root,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: temporaryFolder(t),
      DATA_DIR: data,
      HOST: '127.0.0.1',
      PORT: '0',
      ...keptCompiled,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()))
  // The whole group, so that a test that fails leaves nobody behind.
  t.teardown(() => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch {
      // All of them have ended.
    }
  })
  await until(() => said.includes('"listening"') || child.exitCode !== null, 'the server to start')
  const pid = Number(/"pid":(\d+)/.exec(said)?.[1])
  return { child, said: () => said, pid, url: /listens on (\S+)/.exec(said)?.[1] ?? '' }
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

for (const [name, ...command] of [
  ['npm start', 'npm', 'start'],
  ['npx', 'npx', 'svc-gateway'],
] as const) {
  t.test(`${name}: told to end, it leaves no server behind`, { skip: !hasNpm && 'needs npm' }, async (t) => {
    const [program, ...words] = command
    const data = temporaryFolder(t)
    const { child, pid, said } = await start(t, program, words, data)
    t.ok(lives(pid), said())
    child.kill('SIGTERM')
    await until(() => !lives(pid), 'the server to end')
    // What it said last may be on its way still.
    await until(() => said().includes('"stopped"'), 'it to have ended in order')
    t.same(
      readdirSync(data).filter((file) => file.startsWith('gateway.db')),
      ['gateway.db'],
    )
  })
}

// What another Node, too old for us, would run: the launcher itself under this one, with a version that says so.
function asOldNode(t: Test): string {
  const preload = join(temporaryFolder(t), 'old.cjs')
  writeFileSync(
    preload,
    `Object.defineProperty(process, 'version', { value: 'v20.20.0' })
     Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.0' } })`,
  )
  return preload
}

t.test('the runtime it hands over to ends with it, however it ends', async (t) => {
  const words = ['--require', asOldNode(t), join(root, 'bin/svc-gateway.js'), 'start']
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const { child, pid } = await start(t, process.execPath, words)
    t.not(pid, child.pid, 'another process')
    child.kill(signal)
    await until(() => !lives(pid), `the server to end after ${signal}`)
  }
})

t.test('without a runtime that is new enough, what is missing is named', async (t) => {
  const folder = temporaryFolder(t)
  for (const place of ['bin', 'src/operator']) mkdirSync(join(folder, place), { recursive: true })
  for (const file of ['launch.js', 'svc-gateway.js']) copyFileSync(join(root, 'bin', file), join(folder, 'bin', file))
  cpSync(join(root, 'src/operator/main.ts'), join(folder, 'src/operator/main.ts'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const { status, stderr } = spawnSync(process.execPath, ['--require', asOldNode(t), join(folder, 'bin/svc-gateway.js')], {
    encoding: 'utf8',
    // The test runner has every Node that it starts import something of its own, which warns.
    env: { PATH: process.env['PATH'], NODE_NO_WARNINGS: '1' },
  })
  t.equal(status, 1)
  t.equal(
    stderr,
    'This needs Node 24 or newer; here is v20.20.0. Install one, or run npm ci without --omit=dev, which brings it along.\n',
  )
})

t.test('what is compiled is kept in no folder that somebody happens to be in, and nobody needs a home', (t) => {
  const here = temporaryFolder(t)
  const PATH = process.env['PATH'] ?? ''
  const svc = join(root, 'bin/svc.js')
  const { status } = spawnSync(process.execPath, [svc, '--version'], { cwd: here, env: { PATH, HOME: here, XDG_CACHE_HOME: '' } })
  t.equal(status, 0)
  t.strictSame(readdirSync(here), ['.cache'])
  // Without a HOME the system is asked for the user's, and knows none of this number.
  const nobody = process.getuid?.() === 0 ? { uid: 54_321, gid: 54_321 } : {}
  for (const words of [
    [svc, '--help'],
    [join(root, 'bin/svc-gateway.js'), '--help'],
  ]) {
    const { status, stderr } = spawnSync(process.execPath, words, {
      env: { PATH, NODE_NO_WARNINGS: '1' },
      encoding: 'utf8',
      ...nobody,
    })
    t.equal(status, 0, stderr)
  }
  t.end()
})

t.test('the composed nodes listen where the balancer and the health check look for them, whatever .env says of PORT', (t) => {
  const read = (name: string) => readFileSync(join(root, 'deploy', name), 'utf8')
  const [, environment = ''] = /^x-node:[^]*?\n  environment:\n((?: {4}.*\n)+)/m.exec(read('compose.yaml')) ?? []
  const [, port = 'none'] = /^ {4}PORT: (\d+)$/m.exec(environment) ?? []
  t.match(environment, /^ {4}HOST: 0\.0\.0\.0$/m)
  t.strictSame(
    [...read('haproxy.cfg').matchAll(/presetenv NODE_\d node-\d:(\d+)/g)].map((match) => match[1]),
    [port, port, port],
  )
  t.match(read('Dockerfile'), `http://127.0.0.1:${port}/healthz`)
  t.end()
})

t.test('a server that is profiled is not ended by its own profile', (t) => {
  const folder = temporaryFolder(t)
  const profile = ['--cpu-prof', `--cpu-prof-dir=${folder}`, '--cpu-prof-interval=100']
  for (let start = 0; start < 8; start++) {
    const { signal, stderr } = spawnSync(process.execPath, [...profile, join(root, 'bin/svc-gateway.js'), 'start'], {
      encoding: 'utf8',
      // Far enough to say that there is no such configuration.
      env: { PATH: process.env['PATH'], GATEWAY_CONFIG: join(folder, 'none.ts'), DATA_DIR: folder },
    })
    t.equal(signal, null)
    t.match(stderr, 'none.ts')
  }
  t.end()
})

t.test('a server makes nothing old from birth, whatever survived while it started', (t) => {
  const folder = temporaryFolder(t)
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--trace-pretenuring-statistics', join(root, 'bin/svc-gateway.js'), 'start'],
    { encoding: 'utf8', env: { PATH: process.env['PATH'], GATEWAY_CONFIG: join(folder, 'none.ts'), DATA_DIR: folder } },
  )
  t.match(stderr, 'none.ts')
  t.notMatch(stdout, 'pretenuring:')
  t.end()
})

t.test('what V8 has found dead is freed beside the main thread', (t) => {
  const folder = temporaryFolder(t)
  const config = join(folder, 'collects.mjs')
  writeFileSync(config, "gc({ type: 'major', execution: 'sync' }); throw new Error('it has collected')")
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--single-threaded-gc', '--expose-gc', '--trace-gc-nvp', join(root, 'bin/svc-gateway.js'), 'start'],
    { encoding: 'utf8', env: { PATH: process.env['PATH'], GATEWAY_CONFIG: config, DATA_DIR: folder } },
  )
  t.match(stderr, 'it has collected')
  const times = [...stdout.matchAll(/"sweep\.start_jobs":([\d.]+)/g)].map(([, ms]) => Number(ms))
  t.ok(times.length > 0 && times.every((ms) => ms > 0), `jobs were begun: ${times.join(', ')} ms`)
  t.end()
})

t.test('where it cannot listen it says why, ends at once and leaves the database closed', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const data = temporaryFolder(t)
  const server = await startServer(t, { DATA_DIR: data, PORT: String(port) })
  t.equal(server.child.exitCode, 1)
  t.match(server.log(), /127\.0\.0\.1:\d+ is in use by another program\. Stop it, or choose another PORT\./)
  t.notMatch(server.log(), /\n\s+at /, 'no stack')
  t.same(
    readdirSync(data).filter((file) => file.startsWith('gateway.db')),
    ['gateway.db'],
  )
})
