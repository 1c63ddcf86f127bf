/** Checks another commit out into a temporary folder. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../support/processes.ts'

export interface Checkout {
  readonly folder: string
  /** Display name: the commit's short hash. */
  readonly commit: string
  remove(): void
}

const git = (...words: readonly string[]): string => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim()

/** Uses this checkout's packages if they contain the other's in the same versions, and installs them otherwise. */
export function checkOutCommit(name: string): Checkout {
  const commit = git('rev-parse', '--short', `${name}^{commit}`)
  const parent = mkdtempSync(join(tmpdir(), 'svc-against-'))
  const folder = join(parent, commit)
  git('worktree', 'add', '--detach', '--quiet', folder, commit)
  const checkout = {
    folder,
    commit,
    remove() {
      git('worktree', 'remove', '--force', folder)
      rmSync(parent, { recursive: true, force: true })
    },
  }
  try {
    if (hasPackagesOf(folder)) symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    else execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
    return checkout
  } catch (error) {
    checkout.remove()
    throw error
  }
}

function hasPackagesOf(folder: string): boolean {
  const [ours, theirs] = [readLockedVersions(root), readLockedVersions(folder)]
  return [...theirs].every(([name, version]) => ours.get(name) === version)
}

/** Of the packages that a server loads. */
function readLockedVersions(folder: string): ReadonlyMap<string, unknown> {
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly version?: string; readonly dev?: boolean }>>
  }
  return new Map(
    Object.entries(packages).flatMap(([name, { version, dev }]) =>
      name === '' || dev === true ? [] : [[name, version] as const],
    ),
  )
}

/** This checkout's commit, and whether it has uncommitted changes. */
export function describeCommit(): string {
  if (!existsSync(join(root, '.git'))) return 'no commit'
  return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain') === '' ? '' : ' and changes'}`
}
