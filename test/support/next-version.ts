/** The version after this one, as an operator gets it: other sources with a higher version, and with one more change of the schema. */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { steps } from '../../src/store/postgres/steps.ts'
import type { Scope } from './scope.ts'
import { checkout, configIn } from './server.ts'
import { temporaryFolder } from './temporary-folder.ts'

const parts = ['src', 'plugins', 'gateway.config.ts', 'package.json', 'tsconfig.json']

export interface NextVersion {
  /** Where its sources are, and the file of its configuration. */
  readonly root: string
  readonly config: string
}

/** `changes` are the statements of its step, beside which this version may go on working; `config` an expression over `base`. */
export function nextVersion(t: Scope, { changes, config }: { readonly changes: string; readonly config: string }): NextVersion {
  const root = temporaryFolder(t)
  for (const part of parts) cpSync(join(checkout, part), join(root, part), { recursive: true })
  symlinkSync(join(checkout, 'node_modules'), join(root, 'node_modules'))
  edit(join(root, 'package.json'), /"version": "[^"]+"/, '"version": "999.0.0"')
  const up = `async up(db) { await sql.raw(${JSON.stringify(changes)}).execute(db) }`
  const readableBy = steps.at(-1)?.name
  const step = `{ name: '9999-next', readableBy: '${readableBy}', load: async () => ({ ${up} }) }`
  const list = join(root, 'src/store/postgres/steps.ts')
  edit(list, '  ...sharedSteps,', `  ...sharedSteps, ${step},`)
  edit(list, 'import', `import { sql } from 'kysely'\nimport`)
  return { root, config: configIn(root, config, root) }
}

function edit(file: string, what: string | RegExp, by: string): void {
  const text = readFileSync(file, 'utf8')
  const edited = text.replace(what, by)
  if (edited === text) throw new Error(`${file} has no ${what}`)
  writeFileSync(file, edited)
}
