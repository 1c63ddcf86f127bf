/**
 * Comes before everything else in each process that the test runner starts, and in theirs; half of what a test costs is its start.
 * The runner keeps account of every module that is loaded, line by line, for coverage and `tap --changed`, and of every promise, to know
 * whose an error is: the first is not wanted here, the second is had for less. What Node compiled is kept for the next process. Plain
 * JavaScript, because npm and others that tests start may run on an older Node.
 */
import module from 'node:module'
import { join } from 'node:path'

if (process.env['_TAPJS_PROCESSINFO_COVERAGE_'] === '0') {
  process.env['_TAPJS_PROCESSINFO_EXCLUDE_'] = '/./'
  const errorDomain = new URL('error-domain.ts', import.meta.url).href
  module.registerHooks?.({
    resolve(specifier, context, next) {
      if (specifier === 'async-hook-domain') return { url: errorDomain, shortCircuit: true, format: 'module-typescript' }
      if (specifier.endsWith('@tapjs/processinfo/dist/esm/import.mjs'))
        return { url: 'data:text/javascript,', shortCircuit: true }
      return next(specifier, context)
    },
  })
}
// Threads look for it in the environment.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '../../.tap/compiled')
module.enableCompileCache?.(process.env['NODE_COMPILE_CACHE'])
