import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { loadAssets } from '../../src/pages/assets.ts'
import { toBrowserModule } from '../../src/pages/browser-module.ts'

t.test(
  'a module is served without its types, each line and column where it was, its imports by the names of files',
  async (t) => {
    const source = [
      "import type { Texts } from '../texts/en.ts'",
      "import { find } from './page.ts'",
      "export const form: HTMLElement = find('form', HTMLFormElement); throw new Error('here')",
    ].join('\n')
    t.same(toBrowserModule(source).split('\n'), [
      ' '.repeat("import type { Texts } from '../texts/en.ts'".length),
      "import { find } from './page.js'",
      "export const form              = find('form', HTMLFormElement); throw new Error('here')",
    ])
  },
)

t.test('nobody is told that Node calls this experimental, and other warnings are', async (t) => {
  const module = new URL('../../src/pages/browser-module.ts', import.meta.url)
  const program = `const { toBrowserModule } = await import('${module}'); toBrowserModule('let a: 1'); process.emitWarning('of another')`
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })
  t.notMatch(stderr, /ExperimentalWarning/)
  t.match(stderr, /Warning: of another/)
})

t.test('each module imports only what is served', async (t) => {
  const { files } = loadAssets()
  const folder = fileURLToPath(new URL('../../src/pages/browser/', import.meta.url))
  t.equal(
    [...files.keys()].filter((name) => name.endsWith('.js')).length,
    readdirSync(folder).filter((name) => name.endsWith('.ts')).length,
  )
  for (const [name, { plain }] of files) {
    if (!name.endsWith('.js')) continue
    for (const [, wanted = ''] of plain()
      .toString()
      .matchAll(/^(?:import|export) [^']*from '([^']*)'/gm))
      t.ok(wanted.startsWith('./') && files.has(wanted.slice(2)), `${name} → ${wanted}`)
  }
})
