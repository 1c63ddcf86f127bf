/** Another commit, beside this one, in a temporary folder. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../processes.ts'

export interface Checkout {
  readonly folder: string
  /** As it is shown: the commit's short name. */
  readonly commit: string
  remove(): void
}

const git = (...words: readonly string[]): string => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim()

/** Its packages are ours where its lock file is, and otherwise installed. */
export function checkOut(name: string): Checkout {
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

/** This checkout's commit, and whether anything in it has been changed since. */
export function thisCommit(): string {
  if (!existsSync(join(root, '.git'))) return 'no commit'
  return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain') === '' ? '' : ' and changes'}`
}
