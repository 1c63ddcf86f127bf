/** The drawing, held: who may import whom, who may read the environment, the clock and chance, and that nothing lies around unused. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('..', import.meta.url))

interface Source {
  /** From the checkout's top, as in `src/http/app.ts`. */
  readonly path: string
  /** Without comments. */
  readonly code: string
  /** Files of ours, from the top; and packages, as in `node:fs` or `koa`, but for what is imported for types alone. */
  readonly files: readonly string[]
  readonly packages: readonly string[]
  /** Files imported for their types alone. */
  readonly types: readonly string[]
  /** Files without which it cannot be read: neither started as threads nor loaded when asked for. */
  readonly needs: readonly string[]
}

const sources = globSync(['src/**/*.ts', 'plugins/*.ts', 'gateway.config.ts'], { cwd: root }).map(read)
const tests = globSync(['test/**/*.ts', 'bench/**/*.ts'], { cwd: root }).map(read)

function read(path: string): Source {
  const text = readFileSync(join(root, path), 'utf8')
  const code = withoutComments(text)
  const named = [...code.matchAll(/(?:^|\n)\s*(?:import|export)\s+(type\s)?[^'"`;]*?from\s+'([^']+)'/g)].map(
    ([, type, name = '']) => ({ name, type: type !== undefined }),
  )
  const bare = [...code.matchAll(/(?:^|\n)import\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/g)].map(([, one, other]) => ({
    name: one ?? other ?? '',
    type: false,
  }))
  // Threads and child programs are named by address; their extension depends on how the package was built.
  const addressed = [...code.matchAll(/new URL\(\s*[`'](\.\.?\/[\w./-]*[\w-])(?:\$\{[^}]*\}|\.ts)?[`']/g)].map(
    ([, name = '']) => ({
      name: /\.\w+$/.test(name) ? name : `${name}.ts`,
      type: false,
    }),
  )
  const all = [...named, ...bare, ...addressed]
  const ours = (those: typeof all) =>
    those
      .filter(({ name }) => name.startsWith('.'))
      .map(({ name, type }) => ({ type, file: relative(root, resolve(root, dirname(path), name)) }))
  const own = ours(all)
  return {
    path,
    code,
    files: own.filter(({ type }) => !type).map(({ file }) => file),
    types: own.filter(({ type }) => type).map(({ file }) => file),
    needs: ours(named).map(({ file }) => file),
    packages: all.filter(({ name, type }) => !name.startsWith('.') && !type).map(({ name }) => name),
  }
}

/** Comments gone, strings kept: a word in a comment is no use of it. */
function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[^]*?\*\//g, '').replaceAll(/(^|[^:'"`\\])\/\/[^\n]*/g, '$1')
}

/** Modules of the website's pages: programs of their own, served to browsers and not imported. */
const inBrowser = (path: string) => path.startsWith('src/pages/browser/')
const room = (name: string) => sources.filter(({ path }) => path.startsWith(`src/${name}/`))
const within = (path: string, ...places: string[]) => places.some((place) => path === place || path.startsWith(place))

/** Every import of these sources that leads outside of the places named. */
function strays(of: readonly Source[], ...places: string[]): string[] {
  return of.flatMap(({ path, files, types }) =>
    [...files, ...types].filter((file) => !within(file, ...places)).map((file) => `${path} → ${file}`),
  )
}

t.ok(sources.length > 100, `${sources.length} files are looked at`)

t.test('every import of ours leads to a file', async (t) => {
  t.same(
    [...sources, ...tests].flatMap(({ path, files, types }) =>
      [...files, ...types].filter((file) => !existsSync(join(root, file))).map((file) => `${path} → ${file}`),
    ),
    [],
  )
})

t.test('the domain imports only itself', async (t) => {
  const allowed = ['src/membership/', 'src/errors.ts']
  t.same(strays(room('membership'), ...allowed), [])
  t.same(
    room('membership').flatMap(({ path, packages }) =>
      packages.filter((name) => !name.startsWith('node:')).map((name) => `${path} → ${name}`),
    ),
    [],
  )
})

t.test('the exchange imports the domain, and of the rest a few types', async (t) => {
  const exchange = room('exchange')
  const types = [
    'src/config/brand.ts',
    'src/access/credentials.ts',
    'src/access/limits/limits.ts',
    'src/system/clock.ts',
    'src/system/ids.ts',
  ]
  const domain = ['src/exchange/', 'src/membership/', 'src/errors.ts']
  t.same(strays(exchange, ...domain, ...types), [])
  for (const { path, files, packages } of exchange) {
    t.same(
      files.filter((file) => !within(file, ...domain)),
      [],
      path,
    )
    t.same(
      packages.filter((name) => !name.startsWith('node:')),
      [],
      path,
    )
  }
})

t.test('what the gateway is built of does not know the gateway', async (t) => {
  for (const name of ['access', 'config', 'exchange', 'membership', 'store', 'system', 'upstream']) {
    const known = room(name).flatMap(({ path, files, types }) =>
      [...files, ...types].filter((file) => within(file, 'src/gateway/')).map((file) => `${path} → ${file}`),
    )
    t.same(known, [], name)
  }
})

t.test('src/index.ts is for plugins and configurations: nothing of the service imports it', async (t) => {
  const service = sources.filter(({ path }) => path.startsWith('src/'))
  t.same(
    service.filter(({ files, types }) => [...files, ...types].includes('src/index.ts')).map(({ path }) => path),
    [],
  )
})

t.test('every place that is named here exists', async (t) => {
  const named = readFileSync(fileURLToPath(import.meta.url), 'utf8').matchAll(/'((?:src|plugins|test)\/[\w./-]*)'/g)
  t.same(
    [...named].flatMap(([, path = '']) => (existsSync(join(root, path)) ? [] : path)),
    [],
  )
})

t.test('plugins import src/index.ts and nothing else', async (t) => {
  const plugins = sources.filter(({ path }) => path.startsWith('plugins/'))
  t.ok(plugins.length >= 8)
  t.same(strays(plugins, 'src/index.ts'), [])
  t.same(
    plugins.flatMap(({ path, packages }) => packages.filter((name) => name !== 'node:crypto').map((name) => `${path} → ${name}`)),
    [],
  )
})

t.test('each library that was taken in for one thing is known in one place', async (t) => {
  for (const [name, ...places] of [
    ['http-proxy-3', 'src/upstream/forward.ts'],
    ['better-sqlite3', 'src/store/sqlite/'],
    ['kysely', 'src/store/'],
    ['pg', 'src/store/postgres/'],
    ['koa', 'src/http/', 'src/pages/'],
    ['node:http', 'src/system/node-http.ts'],
    ['@koa/router', 'src/http/router.ts'],
    ['prom-client', 'src/system/observe/'],
    ['pino', 'src/system/observe/', 'src/gateway/services.ts'],
    ['nodemailer', 'src/system/mail/'],
    ['eventsource-parser', 'src/cli/service/', 'src/pages/browser/'],
    ['disposable-email-domains-js', 'src/gateway/disposable-domains.ts'],
    ['@modelcontextprotocol/server', 'src/tools/mcp/', 'src/http/', 'src/tools/search/'],
    ['jose', 'src/access/trusted-issuers.ts', 'src/membership/'],
    ['iovalkey', 'src/access/limits/valkey.ts'],
  ] as const) {
    const users = sources.filter(({ packages }) => packages.some((used) => used === name || used.startsWith(`${name}/`)))
    t.same(
      users.filter(({ path }) => !within(path, ...places)).map(({ path }) => path),
      [],
      name,
    )
  }
})

t.test('PostgreSQL’s driver is loaded where somebody asks for it, never by who imports', async (t) => {
  // The one room that is itself loaded by those alone whose store it is.
  const door = 'src/gateway/shared-installation.ts'
  const importersOf = (name: RegExp, ...places: string[]): string[] =>
    sources
      .filter(({ path }) => !within(path, ...places))
      .flatMap(({ path, code }) => (name.test(code.replaceAll(/import type [^;\n]*/g, '')) ? path : []))
  t.same(importersOf(/\bfrom '[^']*\/postgres\/[^']*'/, 'src/store/postgres/', door), [])
  t.same(importersOf(/\bfrom '[^']*\/shared-installation\.ts'/), [])
})

t.test('the user’s command knows nothing of the server but types', async (t) => {
  const cli = room('cli')
  const wrong = cli.flatMap(({ path, files }) =>
    files.filter((file) => !within(file, 'src/cli/')).map((file) => `${path} → ${file}`),
  )
  t.same(wrong, [])
})

t.test('what is said over the wire is described without the wire', async (t) => {
  t.same(strays(room('api'), 'src/api/', 'src/errors.ts', 'src/membership/'), [])
  t.same(
    room('api').flatMap(({ path, packages }) => packages.filter((name) => name !== 'zod').map((name) => `${path} → ${name}`)),
    [],
  )
})

t.test('the routes know nothing of the operator’s commands', async (t) => {
  const wrong = room('http').flatMap(({ path, files, types }) =>
    [...files, ...types].filter((file) => within(file, 'src/operator/')).map((file) => `${path} → ${file}`),
  )
  t.same(wrong, [])
})

t.test('the audit is written in one place', async (t) => {
  const writers = sources.filter(({ code }) => /\baudit\.record\(/.test(code)).map(({ path }) => path)
  t.same(writers, ['src/membership/audit.ts'])
})

t.test('every route is an endpoint that src/api describes', async (t) => {
  const mounted = room('http')
    .filter(({ path }) => !within(path, 'src/http/serve.ts', 'src/http/routes/pages.ts', 'src/http/routes/assets.ts'))
    .filter(({ code }) => /\b(?:router|api|site)(?:\.(?:get|post|put|patch|delete|all)|\[\w+\.?\w*\])\(/.test(code))
  t.same(
    mounted.map(({ path }) => path),
    [],
  )
})

t.test('what runs in the browser brings nothing of the server along but types', async (t) => {
  for (const { path, files, types, packages } of sources.filter(({ path }) => inBrowser(path))) {
    t.same(
      files.filter((file) => !inBrowser(file)),
      [],
      path,
    )
    t.same(
      types.filter((file) => !within(file, 'src/pages/', 'src/api/')),
      [],
      path,
    )
    t.same(
      packages.filter((name) => name !== 'eventsource-parser'),
      [],
      path,
    )
  }
})

t.test('the environment is read in two places', async (t) => {
  const readers = sources
    .filter(({ code }) => /process\.env\b|\bfrom 'node:process'[^]*\benv\b/.test(code))
    .map(({ path }) => path)
  t.same(
    // The snippets are text: examples shown to members, in which the word stands.
    readers.filter((path) => !['src/config/config.ts', 'src/cli/credentials.ts', 'src/pages/snippets.ts'].includes(path)),
    [],
  )
})

t.test('time and chance come from services', async (t) => {
  // Where the clocks and dice themselves are made, and programs that have no services: the demonstration upstream, the user’s command.
  const makers = [
    'src/system/clock.ts',
    'src/gateway/gateway.ts',
    'src/gateway/workers/',
    'src/upstream/demo/',
    'src/cli/',
    'src/system/observe/',
    'src/operator/',
    'src/store/sqlite/',
    'src/store/postgres/',
    'src/pages/browser/',
  ]
  for (const [name, use] of [
    ['Date.now', /\bDate\.now\s*\(/],
    ['new Date()', /\bnew Date\(\s*\)/],
    ['Math.random', /\bMath\.random\b/],
    ['performance.now', /\bperformance\.now\s*\(/],
  ] as const) {
    t.same(
      sources.filter(({ path, code }) => use.test(code) && !within(path, ...makers)).map(({ path }) => path),
      [],
      name,
    )
  }
  for (const { path } of room('membership'))
    t.notMatch(readFileSync(join(root, path), 'utf8'), /\bDate\.now\(|Math\.random/, path)
})

t.test('nothing is kept in a module: no top-level let, and no top-level collection that grows', async (t) => {
  const keeping = sources.flatMap(({ path, code }) =>
    code
      .split('\n')
      .filter(
        (line) =>
          /^(?:export )?(?:let|var) /.test(line) ||
          /^(?:export )?const \w+ = new (?:Map|WeakMap|Set|LRUCache)(?:<[^=]*>)?\(\s*\)/.test(line),
      )
      .map((line) => `${path}: ${line}`),
  )
  t.same(
    // A page's state is its modules', which go with it.
    keeping.filter((line) => !line.startsWith('src/cli/') && !inBrowser(line)),
    [],
  )
})

t.test('no function is written straight into a property', async (t) => {
  // V8 makes such a one old, and all that it sees lives until the slow collector comes. A variable first, a field's own initializer or a
  // part of a literal makes it young.
  const assigned =
    /(?<!(?:const|let) \w+: [^=\n]*)\.#?\w+ (?:\?\?|\|\||&&)?= (?:async )?(?:function\b|(?:<[^=]*>)?\((?:[^()]|\([^()]*\))*\)(?:: [^=;\n]+)? =>|\w+ =>)/g
  const example =
    'this.#a = (b: () => void): string => c; d.e ??= async f => g; h.i = function () {}; const j: K.l = (m) => n; o.p = q(() => r)'
  t.equal([...example.matchAll(assigned)].length, 3)
  // Another library's own, replaced once in a process.
  const once = ['src/access/connect/provider.ts', 'src/pages/browser-module.ts']
  t.same(
    sources
      .flatMap(({ path, code }) => [...code.matchAll(assigned)].map(([text]) => `${path}: ${text}`))
      .filter((line) => !once.some((path) => line.startsWith(path)) && !inBrowser(line)),
    [],
  )
})

t.test('nothing in the source is forced past the types', async (t) => {
  for (const [name, use] of [
    ['any', /[:<|,(]\s*any\b(?!\s*[-:])|\bas any\b/],
    ['ts-ignore', /@ts-(?:ignore|nocheck|expect-error)/],
  ] as const) {
    const users = sources.filter(({ code }) => use.test(code))
    t.same(
      users.map(({ path }) => path),
      [],
      name,
    )
  }
})

t.test('every file is imported by somebody, or is a program', async (t) => {
  const programs = [
    'src/main.ts',
    'src/index.ts',
    'gateway.config.ts',
    'src/upstream/demo/main.ts',
    'src/cli/main.ts',
    'src/operator/main.ts',
    'src/cli/workbench/main.ts',
  ]
  const imported = new Set([...sources, ...tests].flatMap(({ files, types }) => [...files, ...types]))
  const scripts = readFileSync(join(root, 'package.json'), 'utf8')
  // Page modules are named by their pages and served to browsers by their address; `site` stands on all of them.
  const views = room('pages').map(({ code }) => code)
  const served = (path: string) => {
    const name = basename(path, '.ts')
    return inBrowser(path) && (name === 'site' || views.some((code) => code.includes(`name: '${name}'`)))
  }
  t.same(
    sources
      .map(({ path }) => path)
      .filter((path) => !imported.has(path) && !programs.includes(path) && !scripts.includes(path) && !served(path)),
    [],
  )
})

t.test('no file needs itself by way of others, not even its types', async (t) => {
  const needsOf = new Map(sources.map(({ path, needs }) => [path, needs]))
  const done = new Set<string>()
  const circles: string[] = []
  const follow = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(' → '))
    if (way.includes(path) || done.has(path)) return
    for (const next of needsOf.get(path) ?? []) follow(next, [...way, path])
    done.add(path)
  }
  for (const path of needsOf.keys()) follow(path, [])
  t.same(circles, [])
})

t.test('every plugin of the configuration has a test and a row in the table', async (t) => {
  const table = readFileSync(join(root, 'plugins/README.md'), 'utf8')
  for (const { path } of sources.filter(({ path }) => path.startsWith('plugins/'))) {
    const name = path.slice('plugins/'.length, -'.ts'.length)
    t.ok(existsSync(join(root, `test/plugins/${name}.test.ts`)), `${name} has a test`)
    t.match(table, `| \`${name}\``, `${name} has a row`)
  }
})

t.test('installing needs no compiler and no Python', async (t) => {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly gypfile?: boolean }>>
  }
  const native = Object.keys(lock.packages).filter((path) => path !== '' && existsSync(join(root, path, 'binding.gyp')))
  t.ok(native.includes('node_modules/better-sqlite3'))
  // npm builds whatever has such a file unless the lock file says no; it reads the lock's word only, not the package's, and leaves it
  // out when it writes a new lock. Each of these ships its binaries.
  for (const path of native)
    t.equal(lock.packages[path]?.gypfile, false, `"gypfile": false stands in package-lock.json for ${path}`)
})

t.test('what is committed speaks of the project alone', async (t) => {
  const texts = globSync(['src/**/*.{ts,md,js,css,html}', 'plugins/*', 'test/**/*.ts', 'bench/**/*.{ts,md}', '*.{md,ts,json}'], {
    cwd: root,
    withFileTypes: false,
  }).filter((path) => path !== 'package-lock.json')
  const home = ['', 'root', ''].join('/')
  const registry = ['registry', 'npmjs', 'org'].join('.')
  for (const path of texts) {
    const file = join(root, path)
    const text = readFileSync(file, { encoding: 'utf8', flag: 'r' })
    if (text.includes(home) || text.includes(registry) || /\/(?:work|tmp\/wt)\/[a-z]/.test(text))
      t.fail(`${path} names a place that is only here`)
  }
  t.ok(texts.length > 100)
})
