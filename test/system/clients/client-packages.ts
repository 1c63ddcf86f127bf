/** Opens the packages of `package.json` in this folder. They are installed once into the user's cache folder, and not by `npm ci`. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { cacheFolder } from '../../support/cache-folder.ts'
import type { TestScope } from '../../support/test-scope.ts'

export interface ClientPackages {
  /** Imports a package. Its types are unknown to the compiler, because `npm ci` does not install it. */
  load<Module>(name: string): Promise<Module>
  /** The path of a program, as in `codex`. Npm links none of a package that has the binary of one platform. */
  findProgram(name: string, platformPackage?: string): string
  /** The folder `node_modules`. */
  readonly modules: string
}

const files = ['package.json', 'package-lock.json'] as const
/** A longer installation was interrupted. */
const maxInstallMs = 15 * 60_000

/** The packages. Where they cannot be installed, the test is skipped with the reason, and fails on CI. */
export async function openClientPackages(t: TestScope): Promise<ClientPackages | undefined> {
  const result = await install()
  if ('folder' in result) return createPackages(result.folder)
  const reason = `the packages of test/system/clients cannot be installed: ${result.error}`
  if (process.env['CI'] === 'true') t.fail(reason)
  else t.plan(0, reason)
  return undefined
}

function createPackages(folder: string): ClientPackages {
  return {
    async load<Module>(name: string) {
      const loader = (await import(pathToFileURL(join(folder, 'load.js')).href)) as { load(name: string): Promise<Module> }
      return loader.load(name)
    },
    findProgram: (name, platformPackage) =>
      join(folder, 'node_modules', platformPackage === undefined ? '.bin' : join(platformPackage, 'bin'), name),
    modules: join(folder, 'node_modules'),
  }
}

/** The folder's name contains a hash of the lock file, so that a change makes a new one. */
async function install(): Promise<{ readonly folder: string } | { readonly error: string }> {
  const hash = createHash('sha256')
  for (const file of files) hash.update(readFileSync(join(import.meta.dirname, file)))
  const folder = join(cacheFolder, `clients-${hash.digest('hex').slice(0, 12)}`)
  mkdirSync(cacheFolder, { recursive: true })
  while (!existsSync(folder)) {
    if (!takeLock(`${folder}.lock`)) {
      await sleep(500)
      continue
    }
    try {
      const error = installInto(`${folder}.new`)
      if (error !== null) return { error }
      renameSync(`${folder}.new`, folder)
    } finally {
      rmSync(`${folder}.lock`, { recursive: true, force: true })
    }
  }
  return { folder }
}

/** Test files run in several processes: one installs, the others wait. */
function takeLock(path: string): boolean {
  try {
    mkdirSync(path)
    return true
  } catch {
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0)
    if (age > maxInstallMs) rmSync(path, { recursive: true, force: true })
    return false
  }
}

function installInto(draft: string): string | null {
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft)
  for (const file of files) copyFileSync(join(import.meta.dirname, file), join(draft, file))
  writeFileSync(join(draft, 'load.js'), 'export const load = (name) => import(name)\n')
  // Settings of the `npm test` around it, such as `--ignore-scripts`, would leave programs without their binaries.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:NODE_OPTIONS$|npm_)/i.test(name)))
  const { status, stderr, error } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: draft,
    env,
    encoding: 'utf8',
  })
  return status === 0 ? null : (error?.message ?? stderr.trim().split('\n').at(-1) ?? `npm ended with ${status}`)
}
