/** Finds the files of a build that its programs and its public interface can reach; the build deletes the others. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** A module that held only types: comments, and an export of nothing. */
const emptyModule = /^(?:\/\*.*?\*\/|\/\/[^\n]*|\s)*export \{\};?\s*$/s

/**
 * Paths below `root`, relative to it. A file is needed where it is one of `entries`, or where a needed file names it: in an import, or as a
 * relative path in quotation marks, which is how threads and folders of assets are found.
 */
export function findNeededFiles(root: string, entries: readonly string[]): ReadonlySet<string> {
  const needed = new Set<string>()
  const pending = entries.map((path) => join(root, path))
  for (const path of pending) {
    if (needed.has(path)) continue
    needed.add(path)
    if (!/\.(?:js|d\.ts)$/.test(path)) continue
    for (const [, named = ''] of readFileSync(path, 'utf8').matchAll(/["'`](\.{1,2}\/[^"'`\n]*)["'`]/g))
      pending.push(...resolveNamed(join(dirname(path), named.replace(/\$\{extension\}$/, '.js')), path.endsWith('.d.ts')))
  }
  return new Set([...needed].map((path) => relative(root, path)))
}

function resolveNamed(path: string, isTypes: boolean): readonly string[] {
  const candidates = isTypes ? [path.replace(/\.[jt]s$/, '.d.ts')] : [path, `${path}.js`]
  const found = candidates.find((candidate) => statSync(candidate, { throwIfNoEntry: false }) !== undefined)
  if (found === undefined) return []
  if (statSync(found).isFile()) return [found]
  return readdirSync(found)
    .map((name) => join(found, name))
    .filter((file) => statSync(file).isFile() && !file.endsWith('.d.ts') && !emptyModule.test(readFileSync(file, 'utf8')))
}
