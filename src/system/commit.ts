/** The commit that the running program was made from. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** 12 digits, with `-dirty` where files had been changed; 'unknown' where neither the build nor git names it. */
export function readCommit(): string {
  if (import.meta.url.endsWith('.ts')) return readSourceCommit(fileURLToPath(new URL('../..', import.meta.url))) ?? 'unknown'
  // Written by the build.
  return readFileSync(join(import.meta.dirname, 'commit.txt'), 'utf8').trim()
}

/** The commit of a checkout; null where `root` is not the top of one, such as an unpacked archive within another repository. */
export function readSourceCommit(root: string): string | null {
  const git = (...words: readonly string[]): string | null => {
    const { status, stdout } = spawnSync('git', ['-C', root, ...words], { encoding: 'utf8' })
    return status === 0 ? stdout.trim() : null
  }
  if (git('rev-parse', '--show-cdup') !== '') return null
  return git('describe', '--always', '--dirty', '--abbrev=12', '--exclude', '*')
}
