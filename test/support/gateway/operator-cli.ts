/** Runs operator commands in this process on a data folder, with the shipped configuration or a changed one. */
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'
import { run } from '../../../src/operator/main.ts'
import type { CommandOutcome } from '../../../src/operator/main.ts'
import { createTemporaryFolder } from './test-gateway.ts'

const shippedConfig = pathToFileURL(join(import.meta.dirname, '../../../gateway.config.ts')).href

export type RunOperatorCommand = (...words: string[]) => Promise<CommandOutcome>

export function createOperatorCli(t: Test, dataDir: string, configOverrides: object = {}): RunOperatorCommand {
  // A new name each time, because a process reads a configuration module once.
  const file = join(createTemporaryFolder(t), `${randomUUID()}.config.ts`)
  writeFileSync(
    file,
    `import base from '${shippedConfig}'\nexport default { ...base, ...${JSON.stringify(configOverrides)}, store: { ...base.store, dataDir: ${JSON.stringify(dataDir)} } }\n`,
  )
  const before = process.env['GATEWAY_CONFIG']
  t.teardown(() => {
    if (before === undefined) delete process.env['GATEWAY_CONFIG']
    else process.env['GATEWAY_CONFIG'] = before
  })
  return (...args) => {
    process.env['GATEWAY_CONFIG'] = file
    return run(args)
  }
}
