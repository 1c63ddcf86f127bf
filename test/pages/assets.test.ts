import { spawnSync } from 'node:child_process'
import t from 'tap'
import { loadAssets } from '../../src/pages/assets.ts'
import { toBrowserModule } from '../../src/pages/browser-module.ts'

t.test(
  'a module is served without its types, each line and column where it was, its imports by the names of files',
  async (t) => {
    const source = [
      "import type { Texts } from '../texts/en.ts'",
      "import { find } from './page.ts'",
      "import { createParser } from 'eventsource-parser'",
      "export const form: HTMLElement = find('form', HTMLFormElement); throw new Error('here')",
    ].join('\n')
    t.same(toBrowserModule('form.ts', source).split('\n'), [
      ' '.repeat("import type { Texts } from '../texts/en.ts'".length),
      "import { find } from './page.js'",
      "import { createParser } from './eventsource-parser.js'",
      "export const form              = find('form', HTMLFormElement); throw new Error('here')",
    ])
  },
)

t.test('nobody is told that Node calls this experimental, and other warnings are', async (t) => {
  const module = new URL('../../src/pages/browser-module.ts', import.meta.url)
  const program = `const { toBrowserModule } = await import('${module}'); toBrowserModule('a.ts', 'let a: 1'); process.emitWarning('of another')`
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })
  t.notMatch(stderr, /ExperimentalWarning/)
  t.match(stderr, /Warning: of another/)
})

t.test('each module imports only what is served', async (t) => {
  const { files } = loadAssets()
  for (const name of ['site.js', 'chat.js', 'eventsource-parser.js']) t.ok(files.has(name), name)
  for (const [name, { plain }] of files) {
    if (!name.endsWith('.js')) continue
    for (const [, wanted = ''] of plain()
      .toString()
      .matchAll(/^(?:import|export) [^'"]*from ?['"]([^'"]*)['"]/gm))
      t.ok(wanted.startsWith('./') && files.has(wanted.slice(2)), `${name} → ${wanted}`)
  }
})

t.test('the scripts and styles of a page weigh less than 50 KB on the way', async (t) => {
  const { files } = loadAssets()
  const importsOf = (name: string): string[] =>
    [...(files.get(name)?.plain().toString() ?? '').matchAll(/^(?:import|export) [^'"]*from ?['"]\.\/([^'"]*)['"]/gm)].map(
      ([, other = '']) => other,
    )
  for (const entry of ['chat.js', 'account.js']) {
    const loaded = ['site.js', entry]
    for (const name of loaded) loaded.push(...importsOf(name).filter((other) => !loaded.includes(other)))
    const bytes = ['site.css', 'icon.svg', ...loaded].reduce((sum, name) => sum + (files.get(name)?.br().length ?? 0), 0)
    t.ok(loaded.length > 5 && bytes < 50_000, `${entry}: ${bytes} bytes in ${loaded.length + 2} files`)
  }
})
