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

/** Uses this checkout's packages if the lock file is equal, and installs them otherwise. */
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
    const lock = (of: string): string => readFileSync(join(of, 'package-lock.json'), 'utf8')
    if (lock(root) === lock(folder)) symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    else execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
    return checkout
  } catch (error) {
    checkout.remove()
    throw error
  }
}

/** This checkout's commit, and whether it has uncommitted changes. */
export function describeCommit(): string {
  if (!existsSync(join(root, '.git'))) return 'no commit'
  return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain') === '' ? '' : ' and changes'}`
}
