/** Runs several test files in one process: their imports are loaded once and stay warm. Each file is a subtest under its own name. */
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'
import { reuseWorkers } from './worker-reuse.ts'

const root = join(import.meta.dirname, '../..')
const errorDomain = new URL('error-domain.ts', import.meta.url).href
const checkout = `${pathToFileURL(root).href}/`
/** A file that hangs fails under its own name, and the others still run. On a busy machine the longest has taken a quarter of this. */
const timeoutMs = 2_400_000
const scheme = 'tap-of:'
const tests = new Map<string, Test>()
Object.assign(globalThis, { [Symbol.for(scheme)]: tests })

/** The browser that the files of a process share is closed with the root. */
function mayUseRoot(url: string): boolean {
  return url.includes('/node_modules/') || [import.meta.url, `${checkout}test/support/website/chromium.ts`].includes(url)
}

// `import t from 'tap'` gives a file the root of all tests; here it gives the file its own subtest.
registerHooks({
  resolve(specifier, { parentURL, ...context }, next) {
    if (specifier === 'async-hook-domain') return { url: errorDomain, format: 'module-typescript', shortCircuit: true }
    if (specifier === 'tap' && parentURL !== undefined && tests.has(parentURL))
      return { url: `${scheme}${parentURL}`, format: 'module', shortCircuit: true }
    // The root outlives the file: what it starts there would run after its servers have ended.
    if (specifier === 'tap' && parentURL?.startsWith(checkout) === true && !mayUseRoot(parentURL))
      throw new Error(`${parentURL} is not a test file; it takes the test as a parameter`)
    return next(specifier, { parentURL, ...context })
  },
  load(url, context, next) {
    if (!url.startsWith(scheme)) return next(url, context)
    const file = JSON.stringify(url.slice(scheme.length))
    return { format: 'module', source: `export default globalThis[Symbol.for('${scheme}')].get(${file})`, shortCircuit: true }
  },
})

// Imported after the hooks.
const { default: t } = await import('tap')
reuseWorkers()

/** Runs `files`, given as paths from the root of the checkout, one after the other. */
export async function runFiles(files: readonly string[]): Promise<void> {
  for (const file of files) {
    await t.test(file, { timeout: timeoutMs }, async (t) => {
      const { href } = pathToFileURL(join(root, file))
      tests.set(href, t)
      await import(href)
    })
  }
}
