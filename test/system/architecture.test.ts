/** Architecture rules: which folder imports which, who may read the environment, the clock and random numbers, and that no file is unused. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('../..', import.meta.url))

interface Source {
  /** From the root of the checkout, as in `src/http/app.ts`. */
  readonly path: string
  /** The source without comments. */
  readonly code: string
  /** Imported files of ours, from the root; and packages, as in `node:fs` or `koa`, without type-only imports. */
  readonly files: readonly string[]
  readonly packages: readonly string[]
  /** Files imported only for their types. */
  readonly types: readonly string[]
  /** Files that are loaded together with it: no threads, no dynamic imports. */
  readonly staticImports: readonly string[]
}

const sources = globSync(['src/**/*.ts', 'plugins/*.ts', 'gateway.config.ts'], { cwd: root }).map(readSource)
const tests = globSync(['test/**/*.ts', 'bench/**/*.ts'], { cwd: root }).map(readSource)

function readSource(path: string): Source {
  const text = readFileSync(join(root, path), 'utf8')
  const code = stripComments(text)
  const named = [...code.matchAll(/(?:^|\n)\s*(?:import|export)\s+(type\s)?[^'"`;]*?from\s+'([^']+)'/g)].map(
    ([, type, name = '']) => ({ name, type: type !== undefined }),
  )
  const bare = [...code.matchAll(/(?:^|\n)import\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/g)].map(([, one, other]) => ({
    name: one ?? other ?? '',
    type: false,
  }))
  // Threads and child programs are named by URL; their extension depends on how the package was built.
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
    staticImports: ours(named).map(({ file }) => file),
    packages: all.filter(({ name, type }) => !name.startsWith('.') && !type).map(({ name }) => name),
  }
}

/** Removes comments and keeps strings: a word in a comment is no use of it. */
function stripComments(text: string): string {
  return text.replaceAll(/\/\*[^]*?\*\//g, '').replaceAll(/(^|[^:'"`\\])\/\/[^\n]*/g, '$1')
}

/** Modules of the website's pages, which are served to browsers and not imported; the Markdown tree is served too. */
const isBrowserModule = (path: string) => path.startsWith('src/pages/browser/')
const getFolderSources = (name: string) => sources.filter(({ path }) => path.startsWith(`src/${name}/`))
const isWithin = (path: string, ...places: string[]) => places.some((place) => path === place || path.startsWith(place))

/** Every import of these sources from outside the named folders. */
function findStrayImports(of: readonly Source[], ...places: string[]): string[] {
  return of.flatMap(({ path, files, types }) =>
    [...files, ...types].filter((file) => !isWithin(file, ...places)).map((file) => `${path} → ${file}`),
  )
}

t.ok(sources.length > 100, `${sources.length} files are looked at`)

t.test('every relative import names a file', async (t) => {
  t.same(
    [...sources, ...tests].flatMap(({ path, files, types }) =>
      [...files, ...types].filter((file) => !existsSync(join(root, file))).map((file) => `${path} → ${file}`),
    ),
    [],
  )
})

/** The layers, lowest first. A folder imports itself and folders of lower layers, types included. */
const layers: readonly (readonly string[])[] = [
  ['errors', 'markdown', 'setup', 'system'],
  ['command-table'],
  ['domain'],
  ['conversation'],
  ['api', 'exchange', 'mail'],
  ['codecs'],
  ['config', 'formats'],
  ['access', 'images', 'store', 'upstream'],
  ['backup', 'observability', 'payments'],
  ['notifications', 'services'],
  ['pages', 'tools'],
  ['http'],
  ['server'],
  ['operator'],
]

/** Programs and entry points of their own, with the folders that they may import. */
const programs: Readonly<Record<string, readonly string[]>> = {
  cli: ['api', 'command-table', 'errors', 'markdown', 'setup', 'system'],
  'demo-upstream': ['system'],
  index: ['access', 'codecs', 'config', 'domain', 'errors', 'exchange', 'payments', 'tools', 'upstream'],
}

const getFolder = (path: string) => /^src\/([^/.]+)/.exec(path)?.[1] ?? ''

t.test('imports between folders run downwards', async (t) => {
  const layerOf = (folder: string) => layers.findIndex((folders) => folders.includes(folder))
  const folders = new Set(sources.map(({ path }) => getFolder(path)).filter((folder) => folder !== ''))
  t.same(
    [...folders].filter((folder) => layerOf(folder) === -1 && !(folder in programs)),
    [],
    'each folder has a layer',
  )
  // The server starts the demonstration upstream in its own process.
  const isAllowed = (from: string, to: string) =>
    from === to ||
    (from in programs ? programs[from]?.includes(to) : layerOf(to) < layerOf(from) && layerOf(to) !== -1) ||
    (from === 'server' && to === 'demo-upstream')
  t.same(
    sources
      .filter(({ path }) => path.startsWith('src/'))
      .flatMap(({ path, files, types }) =>
        [...files, ...types]
          .filter((file) => file.startsWith('src/') && !isAllowed(getFolder(path), getFolder(file)))
          .map((file) => `${path} → ${file}`),
      ),
    [],
  )
})

t.test('the domain and the exchange import no package', async (t) => {
  for (const folder of ['domain', 'exchange'])
    t.same(
      getFolderSources(folder).flatMap(({ path, packages }) =>
        packages.filter((name) => !name.startsWith('node:')).map((name) => `${path} → ${name}`),
      ),
      [],
      folder,
    )
})

t.test('no file of the service imports src/index.ts, which is for plugins and configurations', async (t) => {
  const service = sources.filter(({ path }) => path.startsWith('src/'))
  t.same(
    service.filter(({ files, types }) => [...files, ...types].includes('src/index.ts')).map(({ path }) => path),
    [],
  )
})

t.test('every path that this file names exists', async (t) => {
  const named = readFileSync(fileURLToPath(import.meta.url), 'utf8').matchAll(/'((?:src|plugins|test)\/[\w./-]*)'/g)
  t.same(
    [...named].flatMap(([, path = '']) => (existsSync(join(root, path)) ? [] : path)),
    [],
  )
})

t.test('plugins import only src/index.ts', async (t) => {
  const plugins = sources.filter(({ path }) => path.startsWith('plugins/'))
  t.ok(plugins.length >= 8)
  t.same(findStrayImports(plugins, 'src/index.ts'), [])
  t.same(
    plugins.flatMap(({ path, packages }) => packages.filter((name) => name !== 'node:crypto').map((name) => `${path} → ${name}`)),
    [],
  )
})

t.test('each library is imported in one folder', async (t) => {
  for (const [name, ...places] of [
    ['http-proxy-3', 'src/upstream/forward.ts'],
    ['better-sqlite3', 'src/store/sqlite/'],
    ['kysely', 'src/store/'],
    ['pg', 'src/store/postgres/'],
    ['koa', 'src/http/', 'src/pages/'],
    ['node:http', 'src/system/vendor/node-http.ts'],
    ['@koa/router', 'src/system/vendor/koa-router.ts'],
    ['prom-client', 'src/system/vendor/', 'src/observability/'],
    ['pino', 'src/observability/', 'src/services/services.ts'],
    ['nodemailer', 'src/mail/'],
    ['markdown-it', 'src/markdown/'],
    ['@speed-highlight/core', 'src/markdown/'],
    ['@decimalturn/toml-patch', 'src/cli/service-commands/setup/'],
    ['jsonc-parser', 'src/cli/service-commands/setup/'],
    ['yaml', 'src/cli/service-commands/setup/'],
    ['diff', 'src/system/terminal/', 'src/cli/service-commands/setup/'],
    ['eventsource-parser', 'src/cli/service-commands/', 'src/pages/browser/'],
    ['disposable-email-domains-js', 'src/server/disposable-domains.ts'],
    ['@modelcontextprotocol/server', 'src/tools/mcp/', 'src/http/', 'src/tools/search/'],
    ['jose', 'src/access/trusted-issuers.ts', 'src/domain/'],
    ['iovalkey', 'src/access/limits/valkey.ts'],
    ['stripe', 'src/payments/stripe/'],
  ] as const) {
    const users = sources.filter(({ packages }) => packages.some((used) => used === name || used.startsWith(`${name}/`)))
    t.same(
      users.filter(({ path }) => !isWithin(path, ...places)).map(({ path }) => path),
      [],
      name,
    )
  }
})

t.test('requests use the connections of the package, and not those of Node', async (t) => {
  const requesters = sources.filter(
    ({ path, code }) =>
      !path.startsWith('src/pages/browser/') &&
      (/(?<![.\w#]|async )fetch\(/.test(code) || /import \{[^}]*\b(?:request|fetch)\b[^}]*\} from 'undici'/.test(code)) &&
      // With connections of its own, or a `fetch` that it was given.
      !/\bdispatcher\b|createDocumentFetcher/.test(code),
  )
  t.ok(requesters.length >= 6)
  t.same(
    requesters.filter(({ files }) => !files.includes('src/system/vendor/undici-fetch.ts')).map(({ path }) => path),
    [],
  )
})

t.test('the PostgreSQL driver is loaded only for a PostgreSQL store', async (t) => {
  // The one file outside the store that imports it, and is itself loaded on demand.
  const door = 'src/server/installation/postgres-installation.ts'
  const importersOf = (name: RegExp, ...places: string[]): string[] =>
    sources
      .filter(({ path }) => !isWithin(path, ...places))
      .flatMap(({ path, code }) => (name.test(code.replaceAll(/import type [^;\n]*/g, '')) ? path : []))
  t.same(importersOf(/\bfrom '[^']*\/postgres\/[^']*'/, 'src/store/postgres/', door), [])
  t.same(importersOf(/\bfrom '[^']*\/postgres-installation\.ts'/), [])
})

t.test('the command line imports only types of the server', async (t) => {
  const cli = getFolderSources('cli')
  const wrong = cli.flatMap(({ path, files }) =>
    files
      .filter((file) => !isWithin(file, 'src/cli/', 'src/command-table/', 'src/markdown/', 'src/setup/', 'src/system/'))
      .map((file) => `${path} → ${file}`),
  )
  t.same(wrong, [])
})

t.test('the API description imports no server code', async (t) => {
  t.same(findStrayImports(getFolderSources('api'), 'src/api/', 'src/errors.ts', 'src/domain/'), [])
  t.same(
    getFolderSources('api').flatMap(({ path, packages }) =>
      packages.filter((name) => name !== 'zod').map((name) => `${path} → ${name}`),
    ),
    [],
  )
})

t.test('routes import no operator command', async (t) => {
  const wrong = getFolderSources('http').flatMap(({ path, files, types }) =>
    [...files, ...types].filter((file) => isWithin(file, 'src/operator/')).map((file) => `${path} → ${file}`),
  )
  t.same(wrong, [])
})

t.test('no answer is parsed by the library that reads it, because parseJson bounds the depth', async (t) => {
  // Browsers have engines of their own. The linter refuses JSON.parse.
  const readers = sources.filter(({ path, code }) => /\.json\(\s*\)/.test(code) && !isBrowserModule(path))
  t.same(
    readers.map(({ path }) => path),
    [],
  )
})

t.test('one file writes the audit log', async (t) => {
  const writers = sources.filter(({ code }) => /\baudit\.record\(/.test(code)).map(({ path }) => path)
  t.same(writers, ['src/domain/identity/audit.ts'])
})

t.test('src/api describes every route', async (t) => {
  const mounted = getFolderSources('http')
    .filter(
      ({ path }) =>
        !isWithin(
          path,
          'src/http/endpoint-handler.ts',
          'src/http/routes/pages.ts',
          'src/http/routes/assets.ts',
          'src/http/routes/site-files.ts',
          'src/http/routes/turns-export.ts',
          'src/http/routes/console-live.ts',
        ),
    )
    .filter(({ code }) => /\b(?:router|api|site)(?:\.(?:get|post|put|patch|delete|all)|\[\w+\.?\w*\])\(/.test(code))
  t.same(
    mounted.map(({ path }) => path),
    [],
  )
})

t.test('browser modules import only types of the server', async (t) => {
  for (const { path, files, types, packages } of sources.filter(({ path }) => isBrowserModule(path))) {
    t.same(
      files.filter(
        (file) => !isBrowserModule(file) && !isWithin(file, 'src/markdown/', 'src/setup/', 'src/pages/pasted-code.ts'),
      ),
      [],
      path,
    )
    t.same(
      types.filter((file) => !isWithin(file, 'src/pages/', 'src/api/', 'src/markdown/', 'src/setup/')),
      [],
      path,
    )
    t.same(
      packages.filter((name) => !['eventsource-parser', 'idb', 'temml'].includes(name)),
      [],
      path,
    )
  }
})

t.test('the Markdown tree runs in browsers: it imports two libraries and nothing else', async (t) => {
  t.same(findStrayImports(getFolderSources('markdown'), 'src/markdown/'), [])
  t.same(
    getFolderSources('markdown').flatMap(({ path, packages }) =>
      packages.filter((name) => !/^(?:markdown-it|@speed-highlight\/core\/\w+)$/.test(name)).map((name) => `${path} → ${name}`),
    ),
    [],
  )
})

t.test('three files read the environment', async (t) => {
  const readers = sources
    .filter(({ code }) => /process\.env\b|\bfrom 'node:process'[^]*\benv\b/.test(code))
    .map(({ path }) => path)
  t.same(
    // The snippets are example text for members that contains the word.
    readers.filter(
      (path) =>
        !isWithin(
          path,
          'src/config/config.ts',
          'src/cli/user-config/credentials.ts',
          'src/operator/language.ts',
          'src/pages/docs/sdks.ts',
          'src/setup/clients/',
        ),
    ),
    [],
  )
})

t.test('time and random numbers come from services', async (t) => {
  // The linter refuses the other clocks of Node, and its timers.
  // Exempt: where clocks and random numbers are created, and programs without services (the demonstration upstream, the command line).
  const makers = [
    'src/system/clock.ts',
    'src/server/server.ts',
    'src/server/workers/',
    'src/demo-upstream/',
    'src/cli/',
    'src/observability/',
    'src/operator/',
    'src/store/sqlite/',
    'src/store/postgres/',
    'src/pages/browser/',
  ]
  for (const [name, use] of [
    ['new Date()', /\bnew Date\(\s*\)/],
    ['Math.random', /\bMath\.random\b/],
  ] as const) {
    t.same(
      sources.filter(({ path, code }) => use.test(code) && !isWithin(path, ...makers)).map(({ path }) => path),
      [],
      name,
    )
  }
  for (const { path } of getFolderSources('domain'))
    t.notMatch(readFileSync(join(root, path), 'utf8'), /\bDate\.now\(|Math\.random/, path)
})

t.test('no module holds state: no top-level let and no top-level collection that grows', async (t) => {
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
    // The state of a page is in its modules, which end with the page.
    keeping.filter((line) => !line.startsWith('src/cli/') && !isBrowserModule(line)),
    [],
  )
})

t.test('no function is assigned directly to a property', async (t) => {
  // V8 allocates such a function in the old generation, and everything that it references lives until a major collection. Through a
  // variable, a field initializer or an object literal it is allocated young.
  const assigned =
    /(?<!(?:const|let) \w+: [^=\n]*)\.#?\w+ (?:\?\?|\|\||&&)?= (?:async )?(?:function\b|(?:<[^=]*>)?\((?:[^()]|\([^()]*\))*\)(?:: [^=;\n]+)? =>|\w+ =>)/g
  const example =
    'this.#a = (b: () => void): string => c; d.e ??= async f => g; h.i = function () {}; const j: K.l = (m) => n; o.p = q(() => r)'
  t.equal([...example.matchAll(assigned)].length, 3)
  // A property of another library, replaced once per process.
  const once = ['src/access/oauth/provider.ts']
  t.same(
    sources
      .flatMap(({ path, code }) => [...code.matchAll(assigned)].map(([text]) => `${path}: ${text}`))
      .filter((line) => !once.some((path) => line.startsWith(path)) && !isBrowserModule(line)),
    [],
  )
})

t.test('no constant is a bare participle, which hides what it holds', async (t) => {
  const participles = `
    added asked cached called changed chosen created done ended found given gone held kept known made named opened paid parsed queued
    received refused removed seen sent shown started stored taken typed updated used wanted written`
  const declaration = new RegExp(String.raw`\b(?:const|let) (?:${participles.trim().split(/\s+/).join('|')})\b.*`, 'g')
  t.same(
    sources.flatMap(({ path, code }) => [...code.matchAll(declaration)].map(([text]) => `${path}: ${text}`)),
    [],
  )
})

t.test('no source bypasses the type checker', async (t) => {
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

t.test('every file is imported or is a program', async (t) => {
  const programs = [
    'src/operator/start.ts',
    'src/index.ts',
    'gateway.config.ts',
    'test/support/upstream/main.ts',
    'src/cli/main.ts',
    'src/operator/main.ts',
    'src/cli/workbench/main.ts',
  ]
  const imported = new Set([...sources, ...tests].flatMap(({ files, types }) => [...files, ...types]))
  const scripts = readFileSync(join(root, 'package.json'), 'utf8')
  // Page modules are named by their views and served to browsers by URL; `site` is on every page.
  const views = getFolderSources('pages').map(({ code }) => code)
  const served = (path: string) => {
    const name = basename(path, '.ts')
    return isBrowserModule(path) && (name === 'site' || views.some((code) => code.includes(`name: '${name}'`)))
  }
  t.same(
    sources
      .map(({ path }) => path)
      .filter((path) => !imported.has(path) && !programs.includes(path) && !scripts.includes(path) && !served(path)),
    [],
  )
})

t.test('no import cycle exists, types included', async (t) => {
  const needsOf = new Map(sources.map(({ path, staticImports }) => [path, staticImports]))
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
    t.ok(
      ['rules', 'system'].some((part) => existsSync(join(root, `test/${part}/plugins/${name}.test.ts`))),
      `${name} has a test`,
    )
    t.match(table, `| \`${name}\``, `${name} has a row`)
  }
})

t.test('installing needs no compiler and no Python', async (t) => {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly gypfile?: boolean }>>
  }
  const native = Object.keys(lock.packages).filter((path) => path !== '' && existsSync(join(root, path, 'binding.gyp')))
  t.ok(native.includes('node_modules/better-sqlite3'))
  // npm runs a build for a package with such a file unless the lock file says no; npm reads only the lock's entry and omits it when it
  // writes a new lock. Each of these packages ships its binaries.
  for (const path of native)
    t.equal(lock.packages[path]?.gypfile, false, `"gypfile": false stands in package-lock.json for ${path}`)
})

t.test('what is committed speaks of the project alone', async (t) => {
  const texts = globSync(
    ['{src,docs,deploy,examples}/**/*.*', 'plugins/*', 'test/**/*.ts', 'bench/**/*.{ts,md}', '*.{md,ts,json}'],
    {
      cwd: root,
      withFileTypes: false,
    },
  ).filter((path) => path !== 'package-lock.json')
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
