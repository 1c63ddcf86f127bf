/** Other releases of Node, which a test runs the package with. Each is installed once into the user's cache folder. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { toCleanCommand } from '../runner/clean-command.ts'
import { cacheFolder } from './cache-folder.ts'
import { skipWithoutProgram } from './require-program.ts'
import type { TestScope } from './test-scope.ts'

/** The path of the program. Where it cannot be installed, the test is skipped with the reason, and fails on CI. */
export async function openNodeRelease(t: TestScope, version: string): Promise<string | undefined> {
  const folder = join(cacheFolder, `node-${version}`)
  // The npm package of one platform has the program itself; the package `node` would download it by a script.
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  const program = join(folder, 'node_modules', name, 'bin/node')
  if (existsSync(program)) return program
  // Made beside its place and renamed, so that an interrupted run leaves nothing that looks whole.
  const draft = `${folder}.${process.pid}`
  try {
    mkdirSync(draft, { recursive: true })
    writeFileSync(join(draft, 'package.json'), '{"private":true}')
    const [command, words] = toCleanCommand('npm', [
      'install',
      '--no-audit',
      '--no-fund',
      '--ignore-scripts',
      `${name}@${version}`,
    ])
    await promisify(execFile)(command, words, { cwd: draft })
    if (!existsSync(folder)) renameSync(draft, folder)
    return program
  } catch (error) {
    skipWithoutProgram(t, `Node ${version} (${String(error)})`)
    return undefined
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}
