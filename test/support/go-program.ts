/** Programs in Go that `test/runner/install-packages.sh` builds for tests. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from './cache-folder.ts'
import { findProgram, skipWithoutProgram } from './require-program.ts'
import type { TestScope } from './test-scope.ts'

/** The program of the module in `test/<name>`. Undefined where it has not been built: the test is skipped, or fails on CI. */
export function requireGoProgram(t: TestScope, name: string): string | undefined {
  const files = ['main.go', 'go.mod', 'go.sum'].map((file) => join(import.meta.dirname, '..', name, file))
  const source = files.filter((file) => existsSync(file)).map((file) => readFileSync(file))
  const version = createHash('sha256').update(Buffer.concat(source)).digest('hex').slice(0, 12)
  const program = findProgram(join(cacheFolder, `${name}-${version}`))
  if (program === undefined) skipWithoutProgram(t, `${name}, which test/runner/install-packages.sh builds with Go,`)
  return program
}
