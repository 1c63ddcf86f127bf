/** Starting the server through npm, npx and the launcher; it ends with the process that started it. */
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
import { compileCacheEnvironment } from '../runner/clean-command.ts'
import { describeEngineFault } from '../../src/system/engine-fault.ts'
import { createTemporaryFolder, waitUntil } from '../support/gateway/test-gateway.ts'
import { startServerProcess } from '../support/processes/server-process.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const hasNpm = spawnSync('npm', ['--version']).status === 0

interface StartedServer {
  readonly child: ChildProcess
  readonly said: () => string
  /** The server's pid, whatever processes are in between. */
  readonly pid: number
  readonly url: string
}

/** Starts a command that runs a server, and waits for the server. */
async function start(
  t: Test,
  command: string,
  words: readonly string[],
  data = createTemporaryFolder(t),
): Promise<StartedServer> {
  const child = spawn(command, words, {
    cwd: root,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: createTemporaryFolder(t),
      DATA_DIR: data,
      HOST: '127.0.0.1',
      PORT: '0',
      ...compileCacheEnvironment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()))
  // Kills the whole group, so that a failing test leaves no process behind.
  t.teardown(() => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch {
      // All of them have ended.
    }
  })
  await waitUntil(() => said.includes('"listening"') || child.exitCode !== null, 'the server to start')
  const pid = Number(/"pid":(\d+)/.exec(said)?.[1])
  return { child, said: () => said, pid, url: /listens on (\S+)/.exec(said)?.[1] ?? '' }
}

function isAlive(pid: number): boolean {
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
  t.test(`${name}: leaves no server behind when it is ended`, { skip: !hasNpm && 'needs npm' }, async (t) => {
    const [program, ...words] = command
    const data = createTemporaryFolder(t)
    const { child, pid, said } = await start(t, program, words, data)
    t.ok(isAlive(pid), said())
    child.kill('SIGTERM')
    await waitUntil(() => !isAlive(pid), 'the server to end')
    // Its last output may still be on its way.
    await waitUntil(() => said().includes('"stopped"'), 'it to have ended in order')
    t.same(
      readdirSync(data).filter((file) => file.startsWith('gateway.db')),
      ['gateway.db'],
    )
  })
}

const oldNode = { node: '20.20.0' }
const faultyNode = { node: '26.3.0', v8: '14.6.202.34-node.27' }

/** A module that makes this Node report other versions of itself. */
function createVersionPreload(t: Test, versions: { readonly node: string; readonly v8?: string }): string {
  const preload = join(createTemporaryFolder(t), 'versions.cjs')
  writeFileSync(
    preload,
    `Object.defineProperty(process, 'version', { value: 'v${versions.node}' })
     Object.defineProperty(process, 'versions', { value: { ...process.versions, ...${JSON.stringify(versions)} } })`,
  )
  return preload
}

t.test('ends the server together with the launcher, however the launcher ends', async (t) => {
  for (const [signal, versions] of [
    ['SIGTERM', oldNode],
    ['SIGKILL', oldNode],
    ['SIGTERM', faultyNode],
  ] as const) {
    const words = ['--require', createVersionPreload(t, versions), join(root, 'bin/svc-gateway.js'), 'start']
    const { child, pid, said } = await start(t, process.execPath, words)
    t.not(pid, child.pid, `another process serves where Node ${versions.node} is installed`)
    t.match(said(), `"node":"${process.version}"`)
    t.notMatch(said(), 'Warning')
    child.kill(signal)
    await waitUntil(() => !isAlive(pid), `the server to end after ${signal}`)
  }
})

t.test('names the required Node version where none is new enough', async (t) => {
  const folder = createTemporaryFolder(t)
  for (const place of ['bin', 'src/operator']) mkdirSync(join(folder, place), { recursive: true })
  for (const file of ['launch.js', 'svc-gateway.js']) copyFileSync(join(root, 'bin', file), join(folder, 'bin', file))
  cpSync(join(root, 'src/operator/main.ts'), join(folder, 'src/operator/main.ts'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const words = ['--require', createVersionPreload(t, oldNode), join(folder, 'bin/svc-gateway.js')]
  const { status, stderr } = spawnSync(process.execPath, words, {
    encoding: 'utf8',
    // The test runner preloads a module into every Node that it starts, and that module warns.
    env: { PATH: process.env['PATH'], NODE_NO_WARNINGS: '1' },
  })
  t.equal(status, 1)
  t.equal(
    stderr,
    'This needs Node 24 or newer; here is v20.20.0. Install one, or run npm ci without --omit=dev, which brings it along.\n',
  )
})

t.test('warns where a server without a Node of its own runs on one with a known fault, and the doctor fails', async (t) => {
  const folder = createTemporaryFolder(t)
  const run = (...words: readonly string[]) =>
    spawnSync(process.execPath, ['--require', createVersionPreload(t, faultyNode), ...words], {
      cwd: root,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], ...compileCacheEnvironment, DATA_DIR: join(folder, 'data') },
    })
  const path = join(root, 'src/operator/main.ts')
  const main = `const { main } = await import(${JSON.stringify(path)}); await main(['node', 'svc-gateway', 'doctor'])`
  const { status, stdout } = run('--input-type=module', '--eval', main)
  t.equal(status, 1)
  t.match(stdout, /!!\s+runtime\s+Node 26\.3\.0 \(V8 14\.6\) has a fault in JSON\.parse/)

  const words = ['--require', createVersionPreload(t, faultyNode), join(root, 'src/operator/start.ts')]
  const { child, said } = await start(t, process.execPath, words)
  t.match(said(), /^Warning: Node 26\.3\.0 \(V8 14\.6\) has a fault in JSON\.parse/m)
  t.match(said(), /"level":"warn"[^\n]*has a fault in JSON\.parse/)
  child.kill('SIGTERM')
  await once(child, 'exit')
})

t.test('the launcher and the server know the same faulty engines', async (t) => {
  const readPattern = (path: string) => /const faultyV8 = (.*)/.exec(readFileSync(join(root, path), 'utf8'))?.[1]
  t.equal(readPattern('bin/launch.js'), readPattern('src/system/engine-fault.ts'))
  for (const [v8, isFaulty] of [
    ['13.6.233.17-node.53', false],
    ['14.1.146.11-node.18', false],
    ['14.6.202.34-node.34', true],
    ['14.60.1', false],
    ['15.0.1', false],
  ] as const)
    t.equal(describeEngineFault({ node: '1.2.3', v8 }) !== null, isFaulty, v8)
})

t.test('keeps compiled code in the user’s own folder, and starts without a home directory', (t) => {
  const here = createTemporaryFolder(t)
  const PATH = process.env['PATH'] ?? ''
  const svc = join(root, 'bin/svc.js')
  const { status } = spawnSync(process.execPath, [svc, '--version'], { cwd: here, env: { PATH, HOME: here, XDG_CACHE_HOME: '' } })
  t.equal(status, 0)
  t.strictSame(readdirSync(here), ['.cache'])
  // Without HOME, Node asks the system for the user's home, and the system does not know this uid.
  const unprivileged = process.getuid?.() === 0 ? { uid: 54_321, gid: 54_321 } : {}
  for (const words of [
    [svc, '--help'],
    [join(root, 'bin/svc-gateway.js'), '--help'],
  ]) {
    const { status, stderr } = spawnSync(process.execPath, words, {
      env: { PATH, NODE_NO_WARNINGS: '1' },
      encoding: 'utf8',
      ...unprivileged,
    })
    t.equal(status, 0, stderr)
  }
  t.end()
})

t.test('binds the composed nodes where the balancer and the health check expect them, whatever .env sets for PORT', (t) => {
  const read = (name: string) => readFileSync(join(root, 'deploy', name), 'utf8')
  const [, environment = ''] = /^x-node:[^]*?\n  environment:\n((?: {4}.*\n)+)/m.exec(read('compose.several-nodes.yaml')) ?? []
  const [, port = 'none'] = /^ {4}PORT: (\d+)$/m.exec(environment) ?? []
  t.match(environment, /^ {4}HOST: 0\.0\.0\.0$/m)
  t.strictSame(
    [...read('haproxy.cfg').matchAll(/presetenv NODE_\d node-\d:(\d+)/g)].map((match) => match[1]),
    [port, port, port],
  )
  t.match(read('Dockerfile'), new RegExp(`^ENV .*\\bPORT=${port}\\b`, 'm'))
  t.match(read('Dockerfile'), 'http://127.0.0.1:${process.env.PORT}/healthz')
  t.end()
})

t.test('survives its own CPU profiler', (t) => {
  const folder = createTemporaryFolder(t)
  const profile = ['--cpu-prof', `--cpu-prof-dir=${folder}`, '--cpu-prof-interval=100']
  for (let start = 0; start < 8; start++) {
    const { signal, stderr } = spawnSync(process.execPath, [...profile, join(root, 'bin/svc-gateway.js'), 'start'], {
      encoding: 'utf8',
      // Runs far enough to report the missing configuration.
      env: { PATH: process.env['PATH'], ...compileCacheEnvironment, GATEWAY_CONFIG: join(folder, 'none.ts'), DATA_DIR: folder },
    })
    t.equal(signal, null)
    t.match(stderr, 'none.ts')
  }
  t.end()
})

t.test('disables allocation site pretenuring in the server', (t) => {
  const folder = createTemporaryFolder(t)
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--trace-pretenuring-statistics', join(root, 'bin/svc-gateway.js'), 'start'],
    { encoding: 'utf8', env: { PATH: process.env['PATH'], GATEWAY_CONFIG: join(folder, 'none.ts'), DATA_DIR: folder } },
  )
  t.match(stderr, 'none.ts')
  t.notMatch(stdout, 'pretenuring:')
  t.end()
})

t.test('sweeps concurrently in the server', (t) => {
  const folder = createTemporaryFolder(t)
  const config = join(folder, 'collects.mjs')
  writeFileSync(config, "gc({ type: 'major', execution: 'sync' }); throw new Error('it has collected')")
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--single-threaded-gc', '--expose-gc', '--trace-gc-nvp', join(root, 'bin/svc-gateway.js'), 'start'],
    { encoding: 'utf8', env: { PATH: process.env['PATH'], GATEWAY_CONFIG: config, DATA_DIR: folder } },
  )
  t.match(stderr, 'it has collected')
  // V8 14 prints JSON.
  const times = [...stdout.matchAll(/sweep\.start_jobs(?:=|":)([\d.]+)/g)].map(([, ms]) => Number(ms))
  // Without the flag all are 0; a collection that leaves nothing to sweep is 0 too.
  t.ok(
    times.some((ms) => ms > 0),
    `jobs were started: ${times.join(', ')} ms`,
  )
  t.end()
})

t.test(
  'returns freed memory to the system in the server, and leaves the settings of the operator',
  { skip: process.platform !== 'linux' },
  (t) => {
    const folder = createTemporaryFolder(t)
    const config = join(folder, 'prints.mjs')
    writeFileSync(
      config,
      'throw new Error(`arenas ${process.env.MALLOC_ARENA_MAX}, mapped from ${process.env.MALLOC_MMAP_THRESHOLD_}`)',
    )
    const env = { PATH: process.env['PATH'], ...compileCacheEnvironment, GATEWAY_CONFIG: config, DATA_DIR: folder }
    const start = (more: Readonly<Record<string, string>> = {}) =>
      spawnSync(process.execPath, [join(root, 'bin/svc-gateway.js'), 'start'], { encoding: 'utf8', env: { ...env, ...more } })
    t.match(start().stderr, 'arenas 2, mapped from 131072')
    t.match(start({ MALLOC_ARENA_MAX: '7' }).stderr, 'arenas 7, mapped from 131072')
    t.end()
  },
)

t.test('reports why it cannot listen, ends at once and closes the database', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const data = createTemporaryFolder(t)
  const server = await startServerProcess(t, { DATA_DIR: data, PORT: String(port) })
  t.equal(server.child.exitCode, 1)
  t.match(server.log(), /127\.0\.0\.1:\d+ is in use by another program\. Stop it, or choose another PORT\./)
  t.notMatch(server.log(), /\n\s+at /, 'no stack')
  t.same(
    readdirSync(data).filter((file) => file.startsWith('gateway.db')),
    ['gateway.db'],
  )
})
