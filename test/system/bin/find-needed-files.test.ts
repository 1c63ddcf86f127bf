/** What the build leaves in the package. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { findNeededFiles } from '../../../bin/find-needed-files.ts'
import { createTemporaryFolder } from '../../support/temporary-folder.ts'

/** `<path>` stands for a quoted path and `%` for its beginning: the tests read the imports of this file too. */
const files = {
  'main.js': 'import <./named.js>\nexport { a } from <./lib/exported.js>\nawait import(<./lazy.js>)\n',
  'named.js': 'export const thread = new URL(`%thread${extension}`, import.meta.url), other = toPath(<./other>)\n',
  'lib/exported.js': "export const a = new URL(<../assets/>, import.meta.url)\nimport 'better-sqlite3'\n",
  'lazy.js': '',
  'thread.js': '',
  'other.js': '',
  'assets/icon.svg': '<svg/>',
  'assets/site.js': 'run()',
  'assets/only-types.js': '/** Types. */\n// More.\nexport {};\n',
  'assets/site.d.ts': 'export {}',
  'index.d.ts': 'export type { A } from <./types.ts>\nexport type B = import(<./inline.js>).B\n',
  'types.d.ts': 'export type A = 1',
  'inline.d.ts': 'export type B = 1',
  'types.js': 'export {};\n',
  'unused.js': 'import <./main.js>\n',
  'unused.d.ts': '',
}

t.test('finds what imports, addresses of threads, and folders name, and nothing else', (t) => {
  const root = createTemporaryFolder(t)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text.replaceAll(/<(\.[^>]*)>/g, "'$1'").replaceAll('%', './'))
  }
  t.same([...findNeededFiles(root, ['main.js', 'index.d.ts'])].toSorted(), [
    'assets/icon.svg',
    'assets/site.js',
    'index.d.ts',
    'inline.d.ts',
    'lazy.js',
    'lib/exported.js',
    'main.js',
    'named.js',
    'other.js',
    'thread.js',
    'types.d.ts',
  ])
  t.end()
})
