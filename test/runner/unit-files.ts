/** Selects the test files that start nothing: no server, store, browser or program. Decided from their imports, transitively. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const impurePattern =
  /from '(?:node:child_process|node:http2?|node:https|node:net|node:tls|node:worker_threads|better-sqlite3|playwright-core|koa|undici)'|\bfetch\(|new Worker\(/
const purity = new Map<string, boolean>()

function isPure(file: string): boolean {
  const cached = purity.get(file)
  if (cached !== undefined) return cached
  // Files in an import cycle are classified by the rest of it.
  purity.set(file, true)
  const text = readFileSync(file, 'utf8')
  const files = [...text.matchAll(/(?:import|export)\s(?!type\b)[^;'"]*?from\s+'(\.[^']+)'|import\('(\.[^']+)'\)/g)].map(
    ([, one, other]) => resolve(dirname(file), one ?? other ?? ''),
  )
  const pure = !impurePattern.test(text) && files.every((next) => !existsSync(next) || isPure(next))
  purity.set(file, pure)
  return pure
}

/** Returns the unit tests among `files`, which are paths from the root of the checkout. */
export function selectUnitFiles(files: readonly string[]): string[] {
  return files.filter((file) => isPure(join(root, file)))
}
