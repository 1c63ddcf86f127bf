import { readFileSync, readdirSync } from 'node:fs'
import t from 'tap'
import { loadAssets } from '../../../src/pages/assets.ts'

const entries = readdirSync(new URL('../../../src/pages/browser/entries/', import.meta.url)).map((name) =>
  name.replace('.ts', '.js'),
)

t.test('a page loads one script, which imports nothing but modules that it loads when it needs them', async (t) => {
  const { files } = loadAssets()
  t.ok(entries.includes('chat.js') && entries.includes('site.js'))
  for (const name of entries) {
    const script = files.get(name)?.identity().toString() ?? ''
    t.ok(script.length > 1_000, name)
    t.notMatch(script, /(?:^|;)\s*import\s*["'{*]/, `${name} is whole`)
    for (const [, wanted = ''] of script.matchAll(/\bimport\(["']([^"']*)["']\)/g))
      t.ok(wanted.startsWith('./') && files.has(wanted.slice(2)), `${name} → ${wanted}`)
  }
})

t.test('serves no source, and no module that is a part of others', async (t) => {
  const { files } = loadAssets()
  t.same(
    [...files.keys()].filter((name) => name.endsWith('.ts') || name === 'page.js' || name === 'tsconfig.json'),
    [],
  )
})

t.test('a sheet is one file, and names only files that are served', async (t) => {
  const { files } = loadAssets()
  const sheets = [...files.keys()].filter((name) => name.endsWith('.css'))
  t.ok(sheets.includes('site.css') && sheets.includes('chat.css') && !sheets.includes('tokens.css'), sheets.join(' '))
  for (const name of sheets) {
    const sheet = files.get(name)?.identity().toString() ?? ''
    t.notMatch(sheet, '@import', name)
    for (const [, wanted = ''] of sheet.matchAll(/url\("?([^")]*)"?\)/g)) t.ok(files.has(wanted), `${name} → ${wanted}`)
  }
  t.match(files.get('site.css')?.identity().toString(), /url\("?inter\.woff2/)
})

t.test('each page’s script begins with what every page does', async (t) => {
  for (const name of entries.filter((name) => name !== 'site.js')) {
    const source = readFileSync(
      new URL(`../../../src/pages/browser/entries/${name.replace('.js', '.ts')}`, import.meta.url),
      'utf8',
    )
    t.match(/^import (.*)$/m.exec(source)?.[1], /^'\.\/(site|member)\.ts'$/, name)
  }
})

t.test('a page’s scripts, styles and font weigh at most 45 KB on the way, the chat’s 87 KB with colours of code', async (t) => {
  const { files } = loadAssets()
  const common = ['site.css', 'dark.css', 'inter.woff2', 'icon-48.png', 'icon.svg']
  const weigh = (names: readonly string[]) => names.reduce((sum, name) => sum + (files.get(name)?.gzip().length ?? 1e6), 0)
  for (const name of entries.filter((name) => name !== 'chat.js')) {
    const bytes = weigh([...common, 'account.css', name])
    t.ok(bytes < 45_000, `${name}: ${bytes} bytes`)
  }
  const bytes = weigh([...common, 'chat.css', 'chat.js', 'code-colors.js'])
  t.ok(bytes < 87_000, `chat.js: ${bytes} bytes`)
})
