/** The test files that start nothing: no server, no store, no browser, no program. What a file is, is told from what it imports, and what that imports. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const starts =
  /from '(?:node:child_process|node:http2?|node:https|node:net|node:tls|node:worker_threads|better-sqlite3|playwright-core|koa|undici)'|\bfetch\(|new Worker\(/
const known = new Map<string, boolean>()

function isPure(file: string): boolean {
  const before = known.get(file)
  if (before !== undefined) return before
  // Files that import each other in a circle are judged by the rest of it.
  known.set(file, true)
  const text = readFileSync(file, 'utf8')
  const files = [...text.matchAll(/(?:import|export)\s(?!type\b)[^;'"]*?from\s+'(\.[^']+)'|import\('(\.[^']+)'\)/g)].map(
    ([, one, other]) => resolve(dirname(file), one ?? other ?? ''),
  )
  const pure = !starts.test(text) && files.every((next) => !existsSync(next) || isPure(next))
  known.set(file, pure)
  return pure
}

/** Those of `files`, which are named from the root of the checkout. */
export function pureAmong(files: readonly string[]): string[] {
  return files.filter((file) => isPure(join(root, file)))
}
