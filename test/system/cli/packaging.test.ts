/** The published package: unpacked from its tarball it runs compiled, without the checkout. */
import { execFile } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import type { Test } from 'tap'
import { toCleanCommand } from '../../runner/clean-command.ts'
import { createTemporaryFolder } from '../../support/gateway/test-gateway.ts'
import { openNodeRelease } from '../../support/node-release.ts'
import type { GatewayProcess } from '../../support/processes/gateway-process.ts'
import { startGatewayProcess } from '../../support/processes/gateway-process.ts'
import { findProgram } from '../../support/require-program.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const execute = promisify(execFile)

function run(
  program: string,
  words: readonly string[],
  options: { cwd?: string; env?: Record<string, string> },
  nodeOptions?: string,
) {
  const [bare, all] = toCleanCommand(program, words, nodeOptions)
  return execute(bare, all, options)
}

/** The packed files, and the tarball. */
async function pack(folder: string): Promise<{ readonly tarball: string; readonly paths: readonly string[] }> {
  await run(process.execPath, [join(root, 'bin', 'build.js')], {})
  const words = ['pack', '--json', '--ignore-scripts', '--loglevel=error', '--pack-destination', folder]
  const { stdout } = await run('npm', words, { cwd: root })
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }]
  return { tarball: join(folder, filename), paths: files.map(({ path }) => path) }
}

/** `npm install --global`, where neither a compiler nor Python is to be found. Returns the folder of the packages. */
async function installGlobally(tarball: string, prefix: string): Promise<string> {
  const npm = realpathSync(findProgram('npm') ?? 'npm')
  const words = ['install', '--global', '--prefix', prefix, '--prefer-offline', '--no-audit', '--no-fund', tarball]
  await run('env', [`PATH=${dirname(process.execPath)}`, process.execPath, npm, ...words], { cwd: prefix })
  return join(prefix, 'lib/node_modules')
}

/** In bytes on the disk. */
function measureFolder(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => lstatSync(join(folder, path)))
    .reduce((sum, { blocks }) => sum + blocks * 512, 0)
}

t.test('the tarball, installed into an empty folder, runs compiled: svc, svc-gateway, and a chat between them', async (t) => {
  // Outside the checkout, because below it Node would find the checkout's own packages.
  const folder = createTemporaryFolder(t)
  const app = join(folder, 'app')
  const home = join(folder, 'home')
  const prefix = join(folder, 'prefix')
  for (const name of ['packed', 'app', 'home', 'prefix']) mkdirSync(join(folder, name))
  const { tarball, paths } = await pack(join(folder, 'packed'))
  for (const page of ['dist/svc.1', 'dist/svc-gateway.8']) t.ok(paths.includes(page), `${page} is in it`)
  t.strictSame(
    paths.filter((path) => !path.startsWith('dist/')).toSorted(),
    ['LICENSE', 'README.md', 'bin/launch.js', 'bin/svc-gateway.js', 'bin/svc.js', 'package.json'],
    'no source, no tests and no tools are in it',
  )

  const modules = await installGlobally(tarball, prefix)
  const packageFolder = join(modules, 'svc-gateway')
  const packages = join(packageFolder, 'node_modules')
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { devDependencies: Record<string, string> }
  t.same(
    Object.keys(manifest.devDependencies).filter((name) => existsSync(join(packages, name))),
    [],
    'no development dependency is installed',
  )
  t.notOk(existsSync(join(packages, 'better-sqlite3/build')), 'nothing was compiled')
  const megabytes = Math.round(measureFolder(prefix) / 1_000_000)
  // Stripe's library, which is optional, has 22 of them, and that of passkeys 8.
  t.ok(megabytes < 148, `${megabytes} MB are installed, less than 148`)
  symlinkSync(modules, join(app, 'node_modules'))
  writeFileSync(join(app, 'package.json'), '{"private":true,"type":"module"}')
  const bin = (name: string) => join(prefix, 'bin', name)
  // The installed programs run on the Node that is named here, without type stripping.
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    XDG_CONFIG_HOME: home,
    LANG: 'C.UTF-8',
    DATA_DIR: join(home, 'data'),
  }
  const installed = async (name: string, words: readonly string[], more: Record<string, string> = {}) =>
    (await run(process.execPath, [bin(name), ...words], { cwd: app, env: { ...env, ...more } }, '--no-strip-types')).stdout
  t.match(await installed('svc', ['--version']), /^\d+\.\d+\.\d+\n$/)
  t.match(await installed('svc', ['--help']), /^Examples:\n/)
  const { version, commit } = JSON.parse(await installed('svc-gateway', ['--version', '--json']))
  t.match({ version, commit }, { version: /^\d+\.\d+\.\d+$/, commit: /^(?:[0-9a-f]{12}(?:-dirty)?|unknown)$/ })
  t.equal(await installed('svc-gateway', ['--version']), `svc-gateway ${version} (${commit})\n`)
  // A start costs what it loads.
  const list = join(home, 'list.cjs')
  writeFileSync(
    list,
    `const loaded = []
     require('node:module').registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
     process.on('exit', () => process.stderr.write(JSON.stringify(loaded)))`,
  )
  const { stderr } = await run(process.execPath, ['--require', list, bin('svc'), '--version'], { cwd: app, env })
  const loaded = (JSON.parse(stderr) as string[]).filter((url) => url.startsWith('file:'))
  t.ok(loaded.length <= 10, `svc --version loads few files: ${loaded.join(' ')}`)

  // An operator's own configuration, with types, as the shipped one recommends.
  const own = "import base from 'svc-gateway/gateway.config.js'\nimport { defineGateway } from 'svc-gateway'\n"
  writeFileSync(
    join(app, 'own.config.ts'),
    `${own}export default defineGateway({ ...base, brand: { slug: 'svc', name: 'Mine' } })\n`,
  )
  const strict = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2024', '--types', '']
  const { stdout: compiled } = await run(join(root, 'node_modules', '.bin', 'tsc'), [...strict, '--listFiles', 'own.config.ts'], {
    cwd: app,
  })
  const readByCompiler = new Set(compiled.split('\n').map((file) => relative(packageFolder, file)))
  t.same(
    paths.filter((path) => path.endsWith('.d.ts') && !readByCompiler.has(path)),
    [],
    'each file of types is reached from the public interface',
  )
  writeFileSync(
    join(app, 'own.config.js'),
    `${own}export default defineGateway({ ...base, listen: { ...base.listen, port: 1 } })\n`,
  )
  t.match(JSON.parse(await installed('svc-gateway', ['check', '--json'], { GATEWAY_CONFIG: 'own.config.js' })), { ok: true })

  const gateway = await startGatewayProcess({
    command: [process.execPath, bin('svc-gateway'), 'start'],
    dataDir: join(home, 'gateway'),
    cwd: app,
    nodeOptions: '--no-strip-types',
  })
  t.teardown(() => gateway.stop())
  const page = await (await fetch(gateway.origin)).text()
  const style = /href="(\/assets\/[^"]+\.css)"/.exec(page)?.[1] ?? 'no style sheet'
  t.equal((await fetch(new URL(style, gateway.origin))).status, 200, "the pages' own files are in the package")
  await scriptsAnswer(t, new URL(style.replace('site.css', 'chat.js'), gateway.origin))
  await chats(t, gateway, (words, more) => installed('svc', words, more))

  await t.test('on Node 26 it warns and answers', async (t) => {
    const node = await openNodeRelease(t, '26.10.0')
    if (node === undefined) return
    const gateway = await startGatewayProcess({
      command: [node, bin('svc-gateway'), 'start'],
      dataDir: join(home, 'gateway-26'),
      cwd: app,
      nodeOptions: '--no-strip-types',
    })
    t.teardown(() => gateway.stop())
    t.match(gateway.output, /^Warning: Node 26\.10\.0 \(V8 14\.6\) has a fault in JSON\.parse/m)
    await chats(t, gateway, async (words, more) => {
      const { stdout } = await run(node, [bin('svc'), ...words], { cwd: app, env: { ...env, ...more } }, '--no-strip-types')
      return stdout
    })
  })
})

async function chats(
  t: Test,
  { origin, key }: GatewayProcess,
  svc: (words: readonly string[], env: Record<string, string>) => Promise<string>,
): Promise<void> {
  const answer = await svc(['chat', 'Hello!', '--json'], { SVC_SITE_URL: origin, SVC_API_KEY: key })
  const result = JSON.parse(answer.trimEnd().split('\n').at(-1) ?? '')
  t.match(result, { ok: true, result: { finish_reason: 'stop' } })
  t.ok(result.result.text.length > 0)
}

/** A page's script, and the modules that it loads later. */
async function scriptsAnswer(t: Test, entry: URL): Promise<void> {
  const wanted = [entry.href]
  for (const address of wanted) {
    const answer = await fetch(address)
    t.equal(answer.status, 200, address)
    t.equal(answer.headers.get('content-type'), 'text/javascript; charset=utf-8')
    const script = await answer.text()
    t.ok(script.length > 1_000, address)
    for (const [, name = ''] of script.matchAll(/\bimport\("([^"]*)"\)/g)) wanted.push(new URL(name, address).href)
  }
}

t.test('in a checkout the launchers run the source, under the pinned Node if the installed one is too old', async (t) => {
  const home = t.testdir()
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, XDG_CONFIG_HOME: home, LANG: 'C.UTF-8', DATA_DIR: home }
  const launcher = join(root, 'bin', 'svc.js')
  t.match((await run(process.execPath, [launcher, '--version'], { env })).stdout, /^\d+\.\d+\.\d+\n$/)
  const failed = await run(process.execPath, [launcher, 'nonsense'], { env }).catch((error: unknown) => error)
  t.match(failed, { code: 2, stderr: /no command 'nonsense'/ })
  const old = ['/usr/bin/node', '/usr/local/bin/node'].find((path) => existsSync(path))
  if (old === undefined) return
  t.match((await run(old, [launcher, '--version'], { env })).stdout, /^\d+\.\d+\.\d+\n$/)
  const failedThere = await run(old, [launcher, 'nonsense'], { env }).catch((error: unknown) => error)
  t.match(failedThere, { code: 2, stderr: /no command 'nonsense'/ }, 'its exit code is handed back')
})
