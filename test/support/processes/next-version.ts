/** The next version as an operator installs it: other sources with a higher version and one more schema migration. */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrations } from '../../../src/store/migrations/migrations.ts'
import type { TestScope } from '../test-scope.ts'
import { checkoutRoot, writeTestConfig } from './server-process.ts'
import { createTemporaryFolder } from '../temporary-folder.ts'

const copiedPaths = ['src', 'plugins', 'gateway.config.ts', 'package.json', 'tsconfig.json']

export interface NextVersion {
  /** The folder of its sources, and its configuration file. */
  readonly root: string
  readonly config: string
}

/** `changes` are the statements of its migration, with which this version can continue to work; `config` is an expression over `base`. */
export function createNextVersion(
  t: TestScope,
  { changes: migrationSql, config }: { readonly changes: string; readonly config: string },
): NextVersion {
  const root = createTemporaryFolder(t)
  for (const part of copiedPaths) cpSync(join(checkoutRoot, part), join(root, part), { recursive: true })
  symlinkSync(join(checkoutRoot, 'node_modules'), join(root, 'node_modules'))
  replaceInFile(join(root, 'package.json'), /"version": "[^"]+"/, '"version": "999.0.0"')
  const readableBy = migrations.at(-1)?.name
  const up = `async up(db) { await sql.raw(${JSON.stringify(migrationSql)}).execute(db) }`
  const list = join(root, 'src/store/migrations/migrations.ts')
  replaceInFile(list, /,?\s*\]$/m, `, { name: '9999-next', readableBy: '${readableBy}', ${up} }]`)
  replaceInFile(list, 'import', `import { sql } from 'kysely'\nimport`)
  return { root, config: writeTestConfig(root, config, root) }
}

function replaceInFile(file: string, pattern: string | RegExp, replacement: string): void {
  const text = readFileSync(file, 'utf8')
  const edited = text.replace(pattern, replacement)
  if (edited === text) throw new Error(`${file} has no ${pattern}`)
  writeFileSync(file, edited)
}
