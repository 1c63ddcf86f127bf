/** `docs/configuration.md` has every key, variable and default that the program has. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import shipped from '../../../gateway.config.ts'
import { renderConfigurationPage } from '../../../docs/generate/configuration-page.ts'
import { checkConfig } from '../../../src/config/config.ts'

const page = renderConfigurationPage()
const rows = new Map(
  page
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split(' | '))
    .map(([path = '', type = '', fallback = '', , , meaning = '']) => [
      path.replace('| ', '').replaceAll('`', ''),
      { type, fallback, meaning },
    ]),
)
const namedTables = new Set(['upstreams', 'products', 'plans', 'signIn.providers', 'limits.attempts'])

/** Every key of a configuration, with `<name>` and `[]` in place of names and indexes. */
function collectPaths(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) {
    const inner = value.flatMap((item) => (isPlainObject(item) && path !== 'plugins' ? collectPaths(item, `${path}[]`) : []))
    return inner.length === 0 ? [path] : inner
  }
  if (!isPlainObject(value)) return [path]
  // The page describes a map of strings as one value.
  if (path.endsWith('.aliases')) return [path]
  const paths = Object.entries(value).flatMap(([key, inner]) =>
    collectPaths(inner, path === '' ? key : `${path}.${namedTables.has(path) ? '<name>' : key}`),
  )
  return paths.length === 0 ? [path] : paths
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const config = checkConfig({ ...shipped, listen: { host: '127.0.0.1', port: 8787 } })

t.test('the page has every key of a checked configuration', async (t) => {
  const paths = [...new Set(collectPaths(config))].filter((path) => path !== 'plans.<name>.id')
  t.ok(paths.length > 90, `${paths.length} keys`)
  t.same(
    paths.filter((path) => !rows.has(path)),
    [],
  )
})

t.test('a default on the page is the value that the program uses', async (t) => {
  const sections = ['limits', 'timeouts', 'search', 'images', 'metrics', 'signIn', 'log', 'boosts'] as const
  // Only these have defaults that no environment variable and no shipped value replaces.
  const bare = checkConfig({ ...shipped, ...Object.fromEntries(sections.map((name) => [name, undefined])) })
  let compared = 0
  for (const [path, { fallback }] of rows) {
    if (path.includes('<name>') || path.includes('[]') || !sections.some((name) => path.startsWith(`${name}.`))) continue
    const value = path.split('.').reduce<unknown>((at, key) => (isPlainObject(at) ? at[key] : undefined), bare)
    if (fallback === '' || fallback === 'required') continue
    t.equal(fallback, `\`${JSON.stringify(value)}\``, path)
    compared++
  }
  t.ok(compared > 30, `${compared} defaults are compared`)
})

t.test('the page names every variable that the shipped configuration reads', async (t) => {
  const source = readFileSync(new URL('../../../gateway.config.ts', import.meta.url), 'utf8')
  const read = [...source.matchAll(/env\.\w+\('(\w+)'/g)].map(([, name = '']) => name)
  t.ok(read.length > 15)
  t.same(
    read.filter((name) => !rows.has(name)),
    [],
  )
})

t.test('every key has a meaning', async (t) => {
  const keys = [...rows].filter(([path, { type }]) => /^[a-z]/.test(path) && /[.]/.test(path) && type !== 'objects by name')
  t.ok(keys.length > 90, `${keys.length} keys`)
  t.same(
    keys.filter(([, { meaning }]) => meaning.replace(/\|$/, '').trim() === '').map(([path]) => path),
    [],
  )
})
