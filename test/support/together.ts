/** Several test files in one process: what they import is loaded once and stays warm. Each is a subtest that has its name. */
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import type { Test } from 'tap'
import { keepThreads } from './kept-threads.ts'

const root = join(import.meta.dirname, '../..')
/** One that hangs fails by its own name, and the others have their turn. */
const patienceMs = 300_000
const scheme = 'tap-of:'
const tests = new Map<string, Test>()
Object.assign(globalThis, { [Symbol.for(scheme)]: tests })

// `import t from 'tap'` gives a file the root of all; here it gives it the subtest that is its own.
registerHooks({
  resolve(specifier, { parentURL, ...context }, next) {
    if (specifier === 'tap' && parentURL !== undefined && tests.has(parentURL))
      return { url: `${scheme}${parentURL}`, format: 'module', shortCircuit: true }
    return next(specifier, { parentURL, ...context })
  },
  load(url, context, next) {
    if (!url.startsWith(scheme)) return next(url, context)
    const file = JSON.stringify(url.slice(scheme.length))
    return { format: 'module', source: `export default globalThis[Symbol.for('${scheme}')].get(${file})`, shortCircuit: true }
  },
})

keepThreads()

/** `files` by their paths from the root of the checkout, one after the other. */
export async function together(files: readonly string[]): Promise<void> {
  for (const file of files) {
    await t.test(file, { timeout: patienceMs }, async (t) => {
      const { href } = pathToFileURL(join(root, file))
      tests.set(href, t)
      await import(href)
    })
  }
}
