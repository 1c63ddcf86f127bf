/** Runs commands of the operator in this process: each on a data folder, with the shipped configuration or parts of it changed. */
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'
import { run } from '../../src/operator/main.ts'
import type { Ended } from '../../src/operator/main.ts'
import { temporaryFolder } from './gateway.ts'

const shipped = pathToFileURL(join(import.meta.dirname, '../../gateway.config.ts')).href

export type Operate = (...words: string[]) => Promise<Ended>

export function operatorOf(t: Test, dataDir: string, parts: object = {}): Operate {
  // A name of its own each time: a configuration is read once a process.
  const file = join(temporaryFolder(t), `${randomUUID()}.config.ts`)
  writeFileSync(
    file,
    `import base from '${shipped}'\nexport default { ...base, ...${JSON.stringify(parts)}, store: { ...base.store, dataDir: ${JSON.stringify(dataDir)} } }\n`,
  )
  return (...words) => {
    process.env['GATEWAY_CONFIG'] = file
    return run(words)
  }
}
